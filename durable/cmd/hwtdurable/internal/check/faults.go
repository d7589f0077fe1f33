package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

// Faults of the surroundings: deployments, administrators, other programs, and callers that give
// up. These faults check their own entries, with the kind of probes. Journals have only the
// firings.

// noProcess is the Hit of a fault that explains no repeated firing.
var noProcess = []int{}

// withStore calls f with a store of this process.
func (s *scene) withStore(ctx context.Context, f func(store *place.Store) error) error {
	store, err := s.reads.Open(ctx, true)
	if err != nil {
		return err
	}
	return errors.Join(f(store), store.Close())
}

// deploy ends a process as a deployment does, and starts it again. Handlers that run return the
// errors of their contexts.
func (s *scene) deploy(ctx context.Context, i int) error {
	begin, p := now(), s.procs[i]
	if err := p.Stop(time.Minute); err != nil {
		return fmt.Errorf("deployment of a %s: %w", s.role(i), err)
	}
	if err := s.over(ctx, p); err != nil {
		return err
	}
	s.note("deployment of a "+s.role(i), begin, []int{p.PID()})
	return s.start(ctx, i)
}

// restart kills all processes, and starts them again after occurrences have become due: a service
// that registers series at its start keeps the due occurrences.
func (s *scene) restart(ctx context.Context) error {
	begin := now()
	pids, err := s.killAll(ctx)
	if err != nil {
		return err
	}
	proc.Sleep(ctx, 2*time.Second)
	s.note("restart of all", begin, pids).Stops = true
	return s.startAll(ctx)
}

// killAll kills all processes.
func (s *scene) killAll(ctx context.Context) (pids []int, err error) {
	for i, p := range s.procs {
		if !p.Kill() {
			return nil, fmt.Errorf("a %s ended by itself: %s", s.role(i), p.Stderr())
		}
		pids = append(pids, p.PID())
		if err := s.over(ctx, p); err != nil {
			return nil, err
		}
	}
	return pids, nil
}

// abandon lets calls end with their contexts while a transaction has locked the key, and then sets
// the entry in the transaction. No abandoned call may cancel the entry.
func (s *scene) abandon(ctx context.Context) error {
	begin := now()
	return s.withStore(ctx, func(store *place.Store) error {
		var keys []string
		for i := range 20 {
			keys = append(keys, fmt.Sprint(probePrefix, "abandoned-", i))
			if err := abandonCancel(ctx, store, keys[i], 2*time.Duration(i+1)*time.Millisecond); err != nil {
				return err
			}
		}
		proc.Sleep(ctx, 300*time.Millisecond)
		for _, key := range keys {
			if _, err := store.Cancel(ctx, key); err != nil {
				return fmt.Errorf("an abandoned call took effect later: %w", err)
			}
		}
		s.note("calls abandoned by their contexts", begin, noProcess)
		return nil
	})
}

// abandonCancel abandons a Cancel of a locked key after a time.
func abandonCancel(ctx context.Context, store *place.Store, key string, after time.Duration) error {
	entry := durable.Entry{Key: key, Due: time.Now().Add(time.Hour)}
	if _, err := store.Set(ctx, entry); err != nil {
		return err
	}
	return store.InTx(ctx, func(tx durable.Tx) error {
		if _, err := tx.Set(ctx, entry); err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, after)
		defer cancel()
		if _, err := store.Cancel(short, key); !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("a Cancel of a locked key returned %v", err)
		}
		_, err := tx.Set(ctx, entry)
		return err
	})
}

// loseLog deletes the log of an SQLite store while one process uses the store. The process must
// notice the deletion, keep the stored entries, and end. Several processes would each keep separate
// commits.
func (s *scene) loseLog(ctx context.Context) error {
	begin := now()
	own := place.Place{File: filepath.Join(s.dir, fmt.Sprint("log-", begin, ".db"))}
	store, err := own.Open(ctx, false)
	if err != nil {
		return err
	}
	stored := 0
	for ; err == nil && now()-begin < int64(30*time.Second); stored++ {
		if stored == 100 {
			if err := os.Remove(own.File + "-wal"); err != nil {
				return errors.Join(err, store.Close())
			}
		}
		_, err = store.Set(ctx, durable.Entry{Key: fmt.Sprint(probePrefix, stored), Due: time.Now().Add(time.Hour)})
	}
	store.Close() // again
	if !errors.Is(err, durable.ErrClosed) {
		return fmt.Errorf("the deletion of the log was not noticed: Set %d returned %v", stored, err)
	}
	if store, err = own.Open(ctx, true); err != nil {
		return err
	}
	for i := 0; i < stored-1 && err == nil; i++ {
		if _, err = store.Get(ctx, fmt.Sprint(probePrefix, i)); err != nil {
			err = fmt.Errorf("after the deletion of the log: %w", err)
		}
	}
	s.note("deletion of a log", begin, noProcess)
	return errors.Join(err, store.Close())
}

// holdLock keeps the write lock of an SQLite file for longer than a lease, while handlers return. The
// workers live: no entry fires again after its handler has succeeded.
func (s *scene) holdLock(ctx context.Context) error {
	begin := now()
	return s.withStore(ctx, func(store *place.Store) error {
		due := time.Now().Add(2 * time.Second) // claimed at 150 ms before that, and then locked
		if err := setMany(ctx, store, durable.Entry{Key: probePrefix + "held-", Due: due}, 4000, 0); err != nil {
			return err
		}
		proc.Sleep(ctx, time.Until(due)-20*time.Millisecond)
		tx, err := store.SQLite.DB().BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS other (id INTEGER PRIMARY KEY)")
		proc.Sleep(ctx, lease+time.Second)
		err = errors.Join(err, tx.Rollback())
		proc.Sleep(ctx, lease)
		s.note("lock held for longer than a lease", begin, noProcess).Waits = true
		return err
	})
}

// otherLibrary writes to the file with the POSIX locks of an SQLite library in C, while stores of
// this process verify the file, open it, and close. The stores notice the library, and the
// library's locks last.
func (s *scene) otherLibrary(ctx context.Context) error {
	begin := now()
	return s.withStore(ctx, func(store *place.Store) error {
		library, err := lockAsInC(s.reads.File)
		if err != nil {
			return err
		}
		defer library.Close()
		for name, use := range map[string]func() error{
			"Verify": func() error { return store.Verify(ctx) },
			"Open":   func() error { return s.withStore(ctx, func(*place.Store) error { return nil }) },
		} {
			if err := use(); err == nil || !strings.Contains(err.Error(), "another SQLite library") {
				return fmt.Errorf("%s beside another SQLite library returned %v", name, err)
			}
		}
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		if _, err = store.Set(short, durable.Entry{Key: probePrefix + "other", Due: time.Now()}); err == nil {
			return errors.New("a call wrote to the file while another library wrote: its lock is lost")
		}
		s.note("transaction of another library", begin, noProcess).Waits = true
		return nil
	})
}
