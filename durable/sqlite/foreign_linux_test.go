package sqlite_test

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

// otherLibrary holds the locks of an SQLite library in C inside its write transaction: POSIX locks on
// the database and on the index of the log, taken with raw descriptors.
type otherLibrary struct{ database, index int }

func openOther(t *testing.T, path string) otherLibrary {
	const shared, sharedSize, write = 0x40000002, 510, 120 // SQLite's lock bytes
	lock := func(path string, kind int16, start, size int64) int {
		fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
		require.NoError(t, err)
		require.NoError(t, syscall.FcntlFlock(uintptr(fd), syscall.F_SETLK, &syscall.Flock_t{Type: kind, Whence: io.SeekStart, Start: start, Len: size}))
		return fd
	}
	return otherLibrary{lock(path, syscall.F_RDLCK, shared, sharedSize), lock(path+"-shm", syscall.F_WRLCK, write, 1)}
}

func (o otherLibrary) close() {
	syscall.Close(o.database)
	syscall.Close(o.index)
}

// locked reports whether both locks are held.
func (o otherLibrary) locked(t *testing.T) bool {
	for _, fd := range []int{o.database, o.index} {
		info, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
		require.NoError(t, err)
		if !strings.Contains(string(info), "POSIX") {
			return false
		}
	}
	return true
}

// descriptors returns the number of descriptors of the process that name the path.
func descriptors(t *testing.T, path string) (n int) {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range entries {
		if target, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(target, path) {
			n++
		}
	}
	return n
}

// The kernel drops the POSIX locks of a process when the process closes any descriptor of the file.
func TestOtherLibraryKeepsItsLocks(t *testing.T) {
	const says = "another SQLite library of this process has"
	path := temp(t)
	s, second := open(t, path, nil), open(t, path, nil)
	require.NoError(t, s.Verify(t.Context()))
	other := openOther(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for name, f := range map[string]func() error{
		"Open":    func() error { _, err := sqlite.Open(t.Context(), path, nil); return err },
		"Verify":  func() error { return s.Verify(t.Context()) },
		"Backup":  func() error { return s.Backup(t.Context(), temp(t)) },
		"Restore": func() error { return sqlite.Restore(t.Context(), path, temp(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			err := f()
			require.ErrorContains(t, err, says)
			require.ErrorContains(t, err, "use Store.DB")
			require.True(t, other.locked(t))
		})
	}
	_, err := s.Set(ctx, durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
	require.ErrorIs(t, err, context.DeadlineExceeded, "the other library writes")
	require.NoError(t, second.Close())
	require.True(t, other.locked(t))
	require.NoError(t, s.Close())
	require.True(t, other.locked(t), "no store is open")
	_, err = sqlite.Open(t.Context(), path, nil)
	require.ErrorContains(t, err, says)
	other.close()
	s, err = sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, s.Verify(t.Context()))
	require.NoError(t, s.Close())
	require.Zero(t, descriptors(t, path))
}

// The locks of this package belong to descriptors: no other library drops them.
func TestOtherLibraryCannotDropLocks(t *testing.T) {
	path := temp(t)
	s := open(t, path, nil)
	tx, err := s.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "CREATE TABLE orders (id INTEGER PRIMARY KEY)")
	require.NoError(t, err)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		file, err := os.OpenFile(path+suffix, os.O_RDWR, 0)
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	index, err := os.OpenFile(path+"-shm", os.O_RDWR, 0)
	require.NoError(t, err)
	defer index.Close()
	write := &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: 120, Len: 1} // SQLite's lock byte
	require.ErrorIs(t, syscall.FcntlFlock(index.Fd(), syscall.F_SETLK, write), syscall.EAGAIN)
	require.NoError(t, tx.Commit())
	require.NoError(t, syscall.FcntlFlock(index.Fd(), syscall.F_SETLK, write))
}

// A program that reads the file must not delay Open without a bound.
func TestOpenWithForeignLogIsBounded(t *testing.T) {
	s, path := open(t, temp(t), nil), temp(t)
	require.NoError(t, s.Backup(t.Context(), path))
	require.NoError(t, os.WriteFile(path+"-wal", []byte("the last commits"), 0o600))
	reader, err := os.Open(path)
	require.NoError(t, err)
	const lock, shared, sharedSize = 37, 0x40000002, 510 // F_OFD_SETLK, SQLite's lock bytes
	require.NoError(t, syscall.FcntlFlock(reader.Fd(), lock, &syscall.Flock_t{Type: syscall.F_RDLCK, Start: shared, Len: sharedSize}))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = sqlite.Open(ctx, path, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = sqlite.Open(t.Context(), path, nil)
	require.ErrorIs(t, err, sqlite3.BUSY)
	require.ErrorContains(t, err, path+"-wal\" is the log of another file")
	require.NoError(t, reader.Close())
	open(t, path, nil)
}

// Locks may come later: an idle library in rollback mode has none.
func TestIdleLibraryIsNoticedByOpen(t *testing.T) {
	path := temp(t)
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	_, err = sqlite.Open(t.Context(), path, nil)
	require.ErrorContains(t, err, "(file descriptor "+strconv.Itoa(int(file.Fd())))
}

// A store that leaves a file in use gives its connections to the next one.
func TestStoresReuseConnectionsOfAFileInUse(t *testing.T) {
	path := temp(t)
	s := open(t, path, nil)
	for i := range 5 {
		other, err := sqlite.Open(t.Context(), path, &sqlite.Options{SyncEvery: time.Duration(i) * 10 * time.Millisecond})
		require.NoError(t, err)
		_, err = other.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
		require.NoError(t, err)
		require.NoError(t, other.Verify(t.Context()))
		require.NoError(t, other.Close())
		if i == 0 {
			defer func(n int) { assert.Equal(t, n, descriptors(t, path)) }(descriptors(t, path))
		}
	}
	_, err := s.Get(t.Context(), "k")
	require.NoError(t, err)
}

// withoutDescriptors runs f while the process can open no file.
func withoutDescriptors(t *testing.T, f func()) {
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: limit.Max}))
	defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }()
	f()
}

// The process then cannot read which files are open and locked.
func TestOtherLibraryKeepsItsLocksAtTheLimit(t *testing.T) {
	path := temp(t)
	s, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	other := openOther(t, path)
	withoutDescriptors(t, func() {
		for name, err := range map[string]error{"Verify": s.Verify(t.Context()), "Backup": s.Backup(t.Context(), path+".copy")} {
			assert.ErrorIs(t, err, syscall.EMFILE, name)
		}
		assert.NoError(t, s.Close())
	})
	assert.True(t, other.locked(t))
	other.close()
	next := open(t, path, nil)
	require.NoError(t, next.Verify(t.Context()))
	require.NoError(t, next.Close())
	require.Zero(t, descriptors(t, path))
}

// A process may have no free descriptor for a while, or fewer rights than at Open.
func TestSyncEveryNeedsNoNewDescriptor(t *testing.T) {
	path := temp(t)
	s := open(t, path, &sqlite.Options{SyncEvery: 10 * time.Millisecond})
	begun := time.Now()
	var err error
	withoutDescriptors(t, func() {
		for err == nil && time.Since(begun) < 500*time.Millisecond { // many syncs on the real clock
			_, err = s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
		}
	})
	require.NoError(t, err)
	require.NoError(t, s.Verify(t.Context()))
}

// database/sql closes idle connections and opens others. Their number does not grow.
func TestClosedConnectionsOfDBAreReused(t *testing.T) {
	s := open(t, temp(t), nil)
	db := s.DB()
	db.SetMaxIdleConns(-1)
	var number, first int
	for range 20 {
		execute(t, db, "SELECT 1")
		number = descriptors(t, "/")
		if first == 0 {
			first = number
		}
	}
	require.Equal(t, first, number)
}

// firstFree occupies the free descriptors below the highest one, which the process may have inherited, and
// returns the next number: RLIMIT_NOFILE limits numbers.
func firstFree(t *testing.T) uint64 {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	highest := uint64(0)
	for _, e := range entries {
		n, err := strconv.ParseUint(e.Name(), 10, 64)
		require.NoError(t, err)
		highest = max(highest, n)
	}
	for {
		f, err := os.Open(os.DevNull)
		require.NoError(t, err)
		if n := uint64(f.Fd()); n > highest {
			require.NoError(t, f.Close())
			return n
		}
		t.Cleanup(func() { f.Close() })
	}
}

// Whichever file finds no descriptor: SQLite says "unable to open database file" only.
func TestOpenNamesAMissingDescriptor(t *testing.T) {
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	for more := uint64(0); ; more++ {
		path, low := temp(t), limit
		low.Cur = firstFree(t) + more // a failed Open may leave connections parked
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low))
		s, err := sqlite.Open(t.Context(), path, nil)
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
		if err == nil {
			require.NoError(t, s.Close())
			require.Greater(t, more, uint64(5)) // the loop met all files
			return
		}
		require.ErrorContains(t, err, "too many open files", more)
	}
}
