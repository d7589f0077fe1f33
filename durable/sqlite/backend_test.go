package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// SQLite's log is beside the file that a link names.
func TestOpenSyncsTheLogBehindALink(t *testing.T) {
	path, link := filepath.Join(t.TempDir(), "timers.db"), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err) // Windows without the privilege
	}
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	var synced string
	s, err := Open(t.Context(), link, &Options{sync: func(log *os.File) error {
		synced = log.Name()
		return nil
	}})
	require.NoError(t, err)
	defer s.Close()
	require.FileExists(t, synced)
}

// Lease and Get need the connections for reads.
func TestVerifyTakesNoReader(t *testing.T) {
	s := openTemp(t)
	for range readers {
		defer func(c *conn) { s.backend.readers <- c }(<-s.backend.readers)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, s.Verify(ctx))
}

// Another process has the file open: SQLite does not sync when this one closes it.
func TestCloseSyncsLastCommitsOfSyncEvery(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timers.db")
	other, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	defer other.Close()
	var syncs atomic.Int64
	s, err := Open(t.Context(), path, &Options{SyncEvery: 10 * time.Second, sync: func(*os.File) error {
		syncs.Add(1)
		return nil
	}})
	require.NoError(t, err)
	_, err = s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	before := syncs.Load()
	require.NoError(t, s.Close())
	require.Equal(t, before+1, syncs.Load())
}

// The other process may die before it syncs its commit.
func TestSyncEverySyncsCommitsOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timers.db")
	s, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	defer s.Close()
	synced := make(chan struct{}, 100)
	reader, err := Open(t.Context(), path, &Options{SyncEvery: 10 * time.Millisecond, sync: func(*os.File) error {
		synced <- struct{}{}
		return nil
	}})
	require.NoError(t, err)
	defer reader.Close()
	<-synced // by Open
	for _, writer := range []*Store{reader, s} {
		_, err = writer.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
		require.NoError(t, err)
		select {
		case <-synced:
		case <-time.After(20 * time.Second):
			require.Fail(t, "no sync")
		}
	}
}

// Workers log single damaged rows and go on to later ones. An unreadable page is an error that
// they retry: all rows behind it are missing.
func TestUnreadablePageIsNoDamagedRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timers.db")
	s, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	due := time.Now().Add(-time.Hour)
	_, err = s.SetMany(t.Context(), func(yield func(durable.Entry) bool) {
		for i := 0; i < 1000 && yield(durable.Entry{Key: fmt.Sprintf("k%04d", i), Due: due.Add(time.Duration(i))}); i++ {
		}
	})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	for page := 4096; page < len(file); page += 4096 {
		const leaf = 0x0a // of an index
		if file[page] == leaf && bytes.Contains(file[page:page+4096], []byte("k0900")) {
			file[page] = 0xff
		}
	}
	require.NoError(t, os.WriteFile(path, file, 0o600))

	s, err = Open(t.Context(), path, nil)
	require.NoError(t, err)
	defer s.Close()
	worker, err := s.backend.Heartbeat(t.Context(), 0, time.Hour)
	require.NoError(t, err)
	lanes, err := s.backend.Lease(t.Context(), backend.LeaseRequest{Worker: worker, Until: time.Now().UnixNano(), Lanes: []backend.Lane{{Max: 2000}}})
	require.ErrorContains(t, err, "malformed")
	require.NotErrorIs(t, err, backend.ErrDamaged)
	require.NotEmpty(t, lanes[0].Rows, "rows before the page")
	require.ErrorIs(t, s.Verify(t.Context()), backend.ErrDamaged)
}

func TestOpenWaitsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timers.db")
	other, err := sqlite3.Open(path) // not in WAL mode
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, other.Exec("BEGIN EXCLUSIVE"))
	for _, mustExist := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		begun := time.Now()
		_, err = Open(ctx, path, &Options{MustExist: mustExist})
		require.Error(t, err)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(begun), busyFor)
	}
}

// SQLite does not wait for locks when it changes the file to WAL mode.
func TestNewFileIsOpenedConcurrently(t *testing.T) {
	for range 20 {
		path := filepath.Join(t.TempDir(), "timers.db")
		var opened sync.WaitGroup
		for range 4 {
			opened.Go(func() {
				s, err := Open(t.Context(), path, nil)
				if assert.NoError(t, err) {
					assert.NoError(t, s.Close())
				}
			})
		}
		opened.Wait()
	}
}

// Each page is found by the index, not by reading the pages before.
func TestPagesTakeLinearTime(t *testing.T) {
	const pages, size = 20, 100
	s := openTemp(t)
	_, err := s.SetMany(t.Context(), func(yield func(durable.Entry) bool) {
		for i := 0; i < pages*size && yield(durable.Entry{Key: fmt.Sprintf("k%06d", i), Due: time.Now().Add(time.Hour)}); i++ {
		}
	})
	require.NoError(t, err)
	steps := func() (n int) { // of SQLite's machine since the last call
		for range readers {
			c := <-s.backend.readers
			for _, q := range c.queries {
				n += q.s.Status(sqlite3.STMTSTATUS_VM_STEP, true)
			}
			defer func() { s.backend.readers <- c }()
		}
		return n
	}
	steps()
	var first, last int
	var after backend.Cursor
	for range pages {
		rows, err := s.backend.Page(t.Context(), "k", after, size, true)
		require.NoError(t, err)
		require.Len(t, rows, size)
		after.Key, last = rows[size-1].Key, steps()
		first = cmp.Or(first, last)
	}
	require.Less(t, last, 2*first)
}
