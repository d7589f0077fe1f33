//go:build unix

package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

func init() { children["set and die"] = setAndDie }

// setAndDie leaves the log behind.
func setAndDie(path string) {
	s, err := sqlite.Open(context.Background(), path, nil)
	if err == nil {
		_, err = s.Set(context.Background(), durable.Entry{Key: "child", Due: time.Now().Add(time.Hour), Payload: []byte("payload")})
	}
	if err != nil {
		os.Stdout.WriteString(err.Error())
		os.Exit(1)
	}
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// Payloads are in the log and in backups, too.
func TestNewFilesHaveTheModeOfTheDatabase(t *testing.T) {
	for name, mode := range map[string]os.FileMode{"private": 0o600, "group": 0o660} {
		t.Run(name, func(t *testing.T) {
			path, copied, restored := temp(t), temp(t), temp(t)
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			require.NoError(t, os.Chmod(path, mode))
			s := open(t, path, nil)
			_, err := s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Hour), Payload: []byte("payload")})
			require.NoError(t, err)
			require.NoError(t, s.Backup(t.Context(), copied))
			require.NoError(t, sqlite.Restore(t.Context(), copied, restored))
			for _, file := range []string{path, path + "-wal", path + "-shm", copied, restored} {
				info, err := os.Stat(file)
				require.NoError(t, err)
				assert.Equal(t, mode, info.Mode().Perm(), file)
			}
		})
	}
}

const service = 65534 // user and group

// as starts a child as another user.
func as(t *testing.T, user uint32, child, path string) (says string) {
	t.Helper()
	program := filepath.Join(directory(t), "program") // go test's directory belongs to root
	content, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, content, 0o755))
	cmd := exec.Command(program, "-test.run=^$")
	cmd.Env = append(os.Environ(), "HWT_CHILD="+child, "HWT_STORE="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.Output()
	require.Error(t, err) // killed, or an error of Open
	return string(bytes.TrimSpace(out))
}

// directory returns one that everybody may use.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sqlite-") // t.TempDir is in a directory that only its owner may search
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o777))
	return dir
}

func needRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may act as another user")
	}
}

// An administrator runs a command as root, which is killed or still runs.
func TestRootLeavesTheFilesToTheirOwner(t *testing.T) {
	needRoot(t)
	path := filepath.Join(directory(t), "timers.db")
	require.Empty(t, as(t, service, "set and die", path))
	for _, suffix := range []string{"-wal", "-shm"} {
		require.NoError(t, os.Remove(path+suffix))
	}
	require.Empty(t, as(t, 0, "set and die", path))
	require.Empty(t, as(t, service, "set and die", path))
	root, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	require.Empty(t, as(t, service, "set and die", path))
	copied := path + ".copy"
	require.NoError(t, root.Backup(t.Context(), copied))
	require.Empty(t, as(t, service, "set and die", copied))
	require.NoError(t, root.Close())
}

// Without a way to give the log to the group of the database, its own group gets no rights.
func TestLogOfAnotherGroupIsPrivate(t *testing.T) {
	needRoot(t)
	path := filepath.Join(directory(t), "timers.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chown(path, service, 1))
	require.NoError(t, os.Chmod(path, 0o660))
	require.Empty(t, as(t, service, "set and die", path))
	info, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestErrorOfAccessNamesFileUserAndCause(t *testing.T) {
	needRoot(t)
	for name, c := range map[string]struct {
		file      string
		mode, dir os.FileMode
		says      string
	}{
		"read-only file":       {"", 0o444, 0o777, `user 65534 may not read and write "DIR/timers.db" (mode 0444, owner 0, group 0): permission denied`},
		"unreadable file":      {"", 0, 0o777, `user 65534 may not read and write "DIR/timers.db" (mode 0000, owner 0, group 0): permission denied`},
		"log of root":          {"-wal", 0o644, 0o777, `user 65534 may not read and write "DIR/timers.db-wal" (mode 0644`},
		"index of root":        {"-shm", 0o644, 0o777, `user 65534 may not read and write "DIR/timers.db-shm" (mode 0644`},
		"read-only directory":  {"", 0o666, 0o555, `user 65534 may not create files in "DIR" (mode 0555`},
		"unsearched directory": {"", 0o666, 0o600, `user 65534 may not search "DIR" (mode 0600`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t)
			path := filepath.Join(dir, "timers.db")
			s, err := sqlite.Open(t.Context(), path, nil)
			require.NoError(t, err)
			require.NoError(t, s.Close())
			require.NoError(t, os.Chmod(path, 0o666))
			if c.file != "" {
				require.NoError(t, os.WriteFile(path+c.file, nil, 0o600))
			}
			require.NoError(t, os.Chmod(path+c.file, c.mode))
			require.NoError(t, os.Chmod(dir, c.dir))
			says := as(t, service, "set and die", path)
			require.NoError(t, os.Chmod(dir, 0o777))
			assert.Contains(t, says, strings.ReplaceAll(c.says, "DIR", dir))
		})
	}
}

// Each name would have its own log.
func TestFileOfTwoNamesIsRejected(t *testing.T) {
	path := temp(t)
	s, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, os.Link(path, path+".link"))
	for _, name := range []string{path, path + ".link"} {
		_, err = sqlite.Open(t.Context(), name, nil)
		require.ErrorIs(t, err, durable.ErrInvalid)
		require.ErrorContains(t, err, "has 2 names (hard links)")
	}
	require.NoError(t, os.Remove(path+".link"))
	open(t, path, nil)
}

// Set must not return nil into a file that no later Open finds.
func TestStoreClosesWhenAFileLosesItsName(t *testing.T) {
	move := func(t *testing.T, path string) { require.NoError(t, os.Rename(path, path+".moved")) }
	remove := func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }
	replace := func(t *testing.T, path string) {
		require.NoError(t, os.WriteFile(path+".new", nil, 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		for name, c := range map[string]struct {
			lose func(*testing.T, string)
			says string
		}{"moved": {move, "was deleted or moved"}, "deleted": {remove, "was deleted or moved"}, "replaced": {replace, "was replaced"}} {
			for _, every := range []time.Duration{0, 20 * time.Millisecond} {
				t.Run(name+suffix+every.String(), func(t *testing.T) {
					path := temp(t)
					s, err := sqlite.Open(t.Context(), path, &sqlite.Options{SyncEvery: every})
					require.NoError(t, err)
					defer s.Close()
					worked := make(chan error, 1)
					go func() {
						worked <- s.Work(context.Background(), func(context.Context, durable.Firing) error { return nil }, nil)
					}()
					c.lose(t, path+suffix)
					require.Eventually(t, func() bool { // the look is periodic
						_, err = s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
						return err != nil
					}, time.Minute, time.Millisecond)
					require.ErrorIs(t, err, durable.ErrClosed)
					require.ErrorContains(t, err, path+suffix)
					require.ErrorContains(t, err, c.says)
					require.ErrorIs(t, <-worked, durable.ErrClosed)
					require.NoError(t, s.Close())
					if name == "replaced" {
						require.FileExists(t, path+suffix, "Close leaves another program's file alone")
					}
				})
			}
		}
	}
}

// A checkpoint of a log with a hole would destroy the database.
func TestStoreClosesWhenItsLogIsTruncated(t *testing.T) {
	for name, content := range map[string][]byte{"truncated": nil, "overwritten": make([]byte, 100)} {
		t.Run(name, func(t *testing.T) {
			path := temp(t)
			s, err := sqlite.Open(t.Context(), path, nil)
			require.NoError(t, err)
			_, err = s.Set(t.Context(), durable.Entry{Key: "checkpointed", Due: time.Now().Add(time.Hour)})
			require.NoError(t, errors.Join(err, s.Close()))
			s, err = sqlite.Open(t.Context(), path, nil)
			require.NoError(t, err)
			set := func() error {
				_, err := s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Hour), Payload: make([]byte, 900)})
				return err
			}
			require.NoError(t, set())
			require.NoError(t, os.WriteFile(path+"-wal", content, 0o600)) // keeps the file
			require.Eventually(t, func() bool {                           // the look is periodic
				err = set()
				return err != nil
			}, time.Minute, time.Millisecond)
			require.ErrorIs(t, err, durable.ErrClosed)
			require.ErrorContains(t, err, path+"-wal\" was truncated")
			require.NoError(t, s.Close())
			s = open(t, path, nil)
			require.NoError(t, s.Verify(t.Context()))
			_, err = s.Get(t.Context(), "checkpointed")
			require.NoError(t, err)
		})
	}
}

// The process keeps the commits of a log without a name as long as it lives: a kill would lose them.
func TestDeletedLogIsSavedToTheDatabase(t *testing.T) {
	path := temp(t)
	s, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Set(t.Context(), durable.Entry{Key: "before", Due: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	require.NoError(t, os.Remove(path+"-wal"))
	require.Eventually(t, func() bool {
		_, err = s.Get(t.Context(), "before")
		return err != nil
	}, time.Minute, time.Millisecond)
	content, err := os.ReadFile(path) // as after a kill
	require.NoError(t, err)
	killed := temp(t)
	require.NoError(t, os.WriteFile(killed, content, 0o600))
	_, err = open(t, killed, nil).Get(t.Context(), "before")
	assert.NoError(t, err)
}

// An operator moves a copy over the file of a running service, and then restarts the service. SQLite would apply the
// log to the copy.
func TestLogOfALiveFileIsSetAside(t *testing.T) {
	copied, path := temp(t), temp(t)
	other, err := sqlite.Open(t.Context(), copied, nil) // in WAL mode, as a copy by cp is
	require.NoError(t, err)
	_, err = other.Set(t.Context(), durable.Entry{Key: "copied", Due: time.Now().Add(time.Hour)})
	require.NoError(t, errors.Join(err, other.Close()))
	logger := newStoringLog()
	s := logger.open(t, path)
	_, err = s.Set(t.Context(), durable.Entry{Key: "before", Due: time.Now().Add(time.Hour), Payload: make([]byte, 5000)})
	require.NoError(t, err)
	log, err := os.ReadFile(path + "-wal")
	require.NoError(t, err)
	require.NoError(t, os.Rename(copied, path))
	require.Eventually(t, func() bool { // the look is periodic
		_, err = s.Get(t.Context(), "before")
		return err != nil
	}, time.Minute, time.Millisecond)
	aside, globErr := filepath.Glob(path + "-wal.*")
	require.NoError(t, globErr)
	require.Len(t, aside, 1)
	require.ErrorContains(t, err, path+"\" was replaced")
	kept, err := os.ReadFile(aside[0])
	require.NoError(t, err)
	require.True(t, bytes.Equal(log, kept))
	require.Contains(t, receive(t, logger.record), aside[0])
	require.ErrorIs(t, receive(t, logger.stored), durable.ErrClosed)
	restarted := open(t, path, nil)
	require.NoError(t, restarted.Verify(t.Context()))
	_, err = restarted.Get(t.Context(), "copied")
	require.NoError(t, err)
}

func TestDevicesAndPipesAreRejected(t *testing.T) {
	pipe := temp(t)
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{pipe, "/dev/null"} {
		_, err := sqlite.Open(t.Context(), path, nil)
		require.ErrorIs(t, err, durable.ErrInvalid, path)
		require.ErrorContains(t, err, "is a device, a pipe, or a socket")
	}
}
