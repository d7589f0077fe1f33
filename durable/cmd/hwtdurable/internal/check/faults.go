package check

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

// Faults of the surroundings: deployments, administrators, other programs, and callers that give
// up. They check their own entries, whose keys begin with probePrefix. No journal has these.

const probePrefix = "probe-"

// nobody is the Hit of a fault that explains no repeated firing.
var nobody = []int{}

// noteWait notes a fault for which writes of all processes may have waited.
func (s *scene) noteWait(kind string, begin int64) {
	s.faults = append(s.faults, Fault{kind, begin, now(), nobody, true})
}

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

// restart kills all processes, and starts them again after occurrences have become due: a service that
// registers its series at its start keeps them.
func (s *scene) restart(ctx context.Context) error {
	begin := now()
	pids, err := s.killAll(ctx)
	if err != nil {
		return err
	}
	proc.Sleep(ctx, 2*time.Second)
	s.note("restart of all", begin, pids)
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

// abandon lets a call end with its context while a transaction has locked its key, and then sets the
// entry in that transaction. The abandoned call must not cancel it.
func (s *scene) abandon(ctx context.Context) error {
	begin := now()
	return s.withStore(ctx, func(store *place.Store) error {
		const key = probePrefix + "abandoned"
		entry := durable.Entry{Key: key, Due: time.Now().Add(time.Hour)}
		if _, err := store.Set(ctx, entry); err != nil {
			return err
		}
		err := store.InTx(ctx, func(tx durable.Tx) error {
			if _, err := tx.Set(ctx, entry); err != nil {
				return err
			}
			short, cancel := context.WithTimeout(ctx, 25*time.Millisecond)
			defer cancel()
			if _, err := store.Cancel(short, key); !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("a Cancel of a locked key returned %v", err)
			}
			_, err := tx.Set(ctx, entry)
			return err
		})
		if err != nil {
			return err
		}
		proc.Sleep(ctx, 300*time.Millisecond)
		if _, err := store.Cancel(ctx, key); err != nil {
			return fmt.Errorf("an abandoned call took effect later: %w", err)
		}
		s.note("call abandoned by its context", begin, nobody)
		return nil
	})
}

// crowdKey sets one key in many concurrent transactions, while its entries fire.
func (s *scene) crowdKey(ctx context.Context) error {
	begin := now()
	return s.withStore(ctx, func(store *place.Store) error {
		var callers sync.WaitGroup
		errs := make(chan error, 8)
		for i := range cap(errs) {
			callers.Go(func() {
				entry := durable.Entry{Key: probePrefix + "crowded"}
				for end := time.Now().Add(time.Second); time.Now().Before(end); {
					entry.Due = time.Now()
					err := store.InTx(ctx, func(tx durable.Tx) (err error) {
						if i%2 == 0 {
							_, err = tx.Set(ctx, entry)
						} else if _, err = tx.Create(ctx, entry); errors.Is(err, durable.ErrExists) {
							err = nil
						}
						return err
					})
					if err != nil {
						errs <- fmt.Errorf("transactions on one key: %w", err)
						return
					}
				}
				errs <- nil
			})
		}
		callers.Wait()
		close(errs)
		var err error
		for one := range errs {
			err = errors.Join(err, one)
		}
		s.noteWait("transactions on one key", begin)
		return err
	})
}

// loseLog deletes the log of an SQLite store while one process uses it, which must notice the deletion,
// keep what it has stored, and end. Several processes would each keep its own commits.
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
	s.note("deletion of a log", begin, nobody)
	return errors.Join(err, store.Close())
}

// holdLock keeps the write lock of an SQLite file for longer than a lease. The workers live: no
// entry fires again after its handler has succeeded.
func (s *scene) holdLock(ctx context.Context) error {
	begin := now()
	return s.withStore(ctx, func(store *place.Store) error {
		tx, err := store.SQLite.DB().BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS other (id INTEGER PRIMARY KEY)")
		proc.Sleep(ctx, lease+time.Second)
		err = errors.Join(err, tx.Rollback())
		proc.Sleep(ctx, lease)
		s.noteWait("lock held for longer than a lease", begin)
		return err
	})
}

// otherDriver writes to the file with a driver of its own, while a store of the same process verifies
// it and closes. Its lock must last.
func (s *scene) otherDriver(ctx context.Context) error {
	begin := now()
	db, err := sql.Open("sqlite3", "file:"+s.reads.File+"?_pragma=busy_timeout(60000)&_txlock=immediate")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY)"); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders DEFAULT VALUES"); err != nil {
		return err
	}
	foreign := func(err error) bool { return err != nil && strings.Contains(err.Error(), "another SQLite library") }
	err = s.withStore(ctx, func(store *place.Store) error { return store.Verify(ctx) })
	if err != nil && !foreign(err) {
		return err
	}
	err = s.withStore(ctx, func(store *place.Store) error {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		_, err := store.Set(short, durable.Entry{Key: probePrefix + "other", Due: time.Now()})
		if err == nil {
			return errors.New("a call wrote to the file while another driver wrote")
		}
		return nil
	})
	if err != nil && !foreign(err) {
		return err
	}
	s.noteWait("transaction of another driver", begin)
	return tx.Commit()
}
