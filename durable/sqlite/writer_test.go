package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// openTemp opens a new store for a test.
func openTemp(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "timers.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// The context of a call may end the transaction, too, for which the call has waited.
func TestEndedCallNamesTheObstacleOfItsWait(t *testing.T) {
	q := newQueue()
	ctx, cancel := context.WithCancel(t.Context())
	before, during, after := &job{}, &job{}, &job{}
	require.NoError(t, q.enqueue(ctx, before))
	q.obstruct(errOpen)
	require.NoError(t, q.enqueue(ctx, during))
	q.obstruct(nil)
	require.NoError(t, q.enqueue(ctx, after))
	cancel()
	require.ErrorIs(t, q.ended(ctx, before), errOpen)
	require.ErrorIs(t, q.ended(ctx, during), errOpen)
	require.Equal(t, context.Canceled, q.ended(ctx, after))
}

// A transaction of the caller waits behind a withdrawn call while a group runs. It must not
// join the group, which its rollback would undo.
func TestTransactionJoinsNoGroup(t *testing.T) {
	ctx := t.Context()
	s := openTemp(t)
	b := s.backend
	running, proceed := make(chan struct{}), make(chan struct{})
	group := make(chan error, 1)
	runs := 0
	go func() {
		group <- b.do(ctx, 1, func(*txn) error {
			if runs++; runs == 1 {
				close(running)
				<-proceed
			}
			return nil
		})
	}()
	<-running
	withdrawn := &job{done: make(chan struct{})}
	require.NoError(t, b.enqueue(ctx, withdrawn))
	rolledBack := make(chan error, 1)
	go func() {
		x, err := s.DB().BeginTx(ctx, nil)
		if err == nil {
			err = x.Rollback()
		}
		rolledBack <- err
	}()
	require.Eventually(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.jobs) == 2
	}, time.Minute, time.Millisecond)
	require.True(t, withdrawn.withdraw())
	close(proceed)
	require.NoError(t, <-group)
	require.NoError(t, <-rolledBack)
	require.Equal(t, 1, runs)
}

// The lease is renewed although handlers wait for transactions.
func TestHeartbeatPassesTransactionsThatWait(t *testing.T) {
	s := openTemp(t)
	b := s.backend
	running, err := s.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	queued := func(n int) {
		require.Eventually(t, func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return len(b.jobs) == n
		}, time.Minute, time.Millisecond)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 {
		go s.DB().BeginTx(ctx, nil) // until ctx ends
	}
	queued(2)
	renewed := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		_, err := b.Heartbeat(ctx, 0, time.Hour)
		renewed <- err
	}()
	queued(3)
	require.NoError(t, running.Rollback())
	require.NoError(t, <-renewed)
}

// While another process holds the lock, calls time out and are repeated.
func TestWithdrawnCallsLeaveTheQueue(t *testing.T) {
	s := openTemp(t)
	b := s.backend
	x, err := s.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	waiting := &job{run: func(*txn) error { return nil }, done: make(chan struct{})}
	require.NoError(t, b.enqueue(t.Context(), waiting))
	for range 10_000 {
		withdrawn := &job{done: make(chan struct{})}
		require.NoError(t, b.enqueue(t.Context(), withdrawn))
		require.True(t, withdrawn.withdraw())
	}
	b.mu.Lock()
	queued := len(b.jobs)
	b.mu.Unlock()
	require.Less(t, queued, 1000)
	require.NoError(t, x.Rollback())
	<-waiting.done
	require.NoError(t, waiting.err)
}

// A row that is damaged after its lease fails no other row of a batch.
func TestDamagedRowFailsNoOtherOfItsBatch(t *testing.T) {
	ctx := t.Context()
	s := openTemp(t)
	b := s.backend
	worker, err := b.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	due := time.Now().Add(time.Hour)
	refs := make(map[string]backend.Ref)
	for _, key := range []string{"damaged", "good", "last"} {
		e, err := s.Set(ctx, durable.Entry{Key: key, Due: due, Payload: []byte("payload")})
		require.NoError(t, err)
		refs[key] = backend.Ref{Key: key, Generation: e.Generation}
	}
	damage := func(key string) {
		require.NoError(t, b.do(ctx, 1, func(t *txn) error {
			_, err := t.c.query("UPDATE hwt_entries SET payload = x'00' WHERE key = ?").blob(key).exec()
			return err
		}))
	}
	damage("damaged")
	results, err := b.Apply(ctx, []backend.Op{
		{Kind: backend.Move, Row: backend.Row{Key: "damaged", Due: due.UnixNano()}},
		{Kind: backend.Move, Row: backend.Row{Key: "good", Due: due.UnixNano()}},
	})
	require.NoError(t, err)
	require.ErrorIs(t, results[0].Err, backend.ErrDamaged)
	require.NoError(t, results[1].Err)
	refs["good"] = results[1].Row.Ref()
	next := &backend.Row{Key: "damaged", Due: due.UnixNano()}
	won, err := b.Claim(ctx, worker, []backend.Claim{{Ref: refs["damaged"], Next: next}, {Ref: refs["good"]}, {Ref: refs["last"]}})
	require.NoError(t, err)
	require.Equal(t, []backend.Answer{backend.Overtaken, backend.Won, backend.Won}, won)
	damage("last")
	applied, err := b.Finish(ctx, worker, []backend.Outcome{
		{Ref: refs["last"], Fate: backend.Release}, {Ref: refs["good"], Fate: backend.Done},
	})
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, applied)
}

// Claims are due soon unless the clock was set back after them.
func TestAdoptFindsClaimsThatAreDueLater(t *testing.T) {
	ctx := t.Context()
	s := openTemp(t)
	_, err := s.Set(ctx, durable.Entry{Key: "sooner", Due: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	e, err := s.Set(ctx, durable.Entry{Key: "later", Due: time.Now().Add(2 * time.Hour)})
	require.NoError(t, err)
	b := s.backend
	gone, err := b.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	heir, err := b.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	won, err := b.Claim(ctx, gone, []backend.Claim{{Ref: backend.Ref{Key: "later", Generation: e.Generation}}})
	require.NoError(t, err)
	require.Equal(t, []backend.Answer{backend.Won}, won)
	_, err = b.Heartbeat(ctx, gone, 0)
	require.NoError(t, err)
	rows, err := b.Adopt(ctx, heir, nil, 10)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, "later", rows[0].Key)
}

// The index of due times has claimed rows, too.
func TestStatsCountNoClaimedRowAsPending(t *testing.T) {
	ctx := t.Context()
	s := openTemp(t)
	b := s.backend
	worker, err := b.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	due := time.Now().Add(time.Hour)
	for i, key := range []string{"first", "claimed", "third", "claimed too", "last"} {
		e, err := s.Set(ctx, durable.Entry{Key: key, Due: due.Add(time.Duration(i))})
		require.NoError(t, err)
		if strings.HasPrefix(key, "claimed") {
			_, err = b.Claim(ctx, worker, []backend.Claim{{Ref: backend.Ref{Key: key, Generation: e.Generation}}})
			require.NoError(t, err)
		}
	}
	var times []int64
	for i := range int64(7) {
		times = append(times, due.UnixNano()+i-1)
	}
	st, err := b.Stats(ctx, times)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 0, 1, 1, 2, 2, 3}, st.Due)
}

// Claims of a worker that is gone are adopted in parts, and none is left behind.
func TestAdoptInParts(t *testing.T) {
	ctx := t.Context()
	s := openTemp(t)
	b := s.backend
	heir, err := b.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	for i := range 5 {
		gone, err := b.Heartbeat(ctx, 0, time.Hour)
		require.NoError(t, err)
		key := strconv.Itoa(i)
		e, err := s.Set(ctx, durable.Entry{Key: key, Due: time.Now()})
		require.NoError(t, err)
		_, err = b.Claim(ctx, gone, []backend.Claim{{Ref: backend.Ref{Key: key, Generation: e.Generation}}})
		require.NoError(t, err)
		_, err = b.Heartbeat(ctx, gone, 0)
		require.NoError(t, err)
	}
	for _, want := range []int{2, 2, 1, 0} {
		rows, err := b.Adopt(ctx, heir, nil, 2)
		require.NoError(t, err)
		require.Len(t, rows, want)
	}
	require.NoError(t, s.Verify(ctx))
	require.NoError(t, b.read(ctx, func(c *conn) error {
		left, err := c.query("SELECT count(*) FROM hwt_workers").integer()
		require.EqualValues(t, 1, left)
		return err
	}))
}

// A snapshot that stays open would keep the log from being reused, and be what the next read sees.
func TestInterruptedReadEndsItsSnapshot(t *testing.T) {
	s := openTemp(t)
	for _, interrupted := range []error{context.Canceled, nil} {
		_, err := s.Set(t.Context(), durable.Entry{Key: strconv.FormatBool(interrupted == nil), Due: time.Now().Add(time.Hour)})
		require.NoError(t, err)
		var count int64
		require.ErrorIs(t, s.backend.apart(t.Context(), func(c *conn) (err error) {
			require.NoError(t, c.run("BEGIN"))
			count, err = c.query("SELECT count(*) FROM hwt_entries").integer()
			return errors.Join(err, interrupted)
		}), interrupted)
		require.EqualValues(t, map[bool]int{false: 1, true: 2}[interrupted == nil], count)
	}
	require.Len(t, s.backend.spare, 1)
}

// Statements and the rows of results are steps, of which 64 bring a yield if the last one was
// long ago.
func TestLongReadsAndTransactionsYield(t *testing.T) {
	ctx := t.Context()
	s := openTemp(t)
	test := func(step func(c *conn) error) func(c *conn) error {
		return func(c *conn) error {
			yields := func(last time.Time) bool {
				c.steps, c.yielded = 0, last
				for range 64 {
					assert.NoError(t, step(c)) // not require: the writer must go on
				}
				return c.yielded != last
			}
			assert.True(t, yields(time.Now().Add(-yieldEvery)))
			assert.False(t, yields(time.Now().Add(time.Hour)))
			return nil
		}
	}
	require.NoError(t, s.backend.read(ctx, test(func(c *conn) error {
		_, err := c.query("SELECT 1").integer()
		return err
	})))
	require.NoError(t, s.backend.do(ctx, 1, func(x *txn) error {
		return test(func(c *conn) error { return c.run("DELETE FROM hwt_workers WHERE id = -1") })(x.c)
	}))
}

// On one processor, ten yields of one goroutine run another one. Without yields, it runs only
// if the runtime interrupts the loop, which takes microseconds.
func TestYieldRunsAnotherGoroutine(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var c conn
	var ran atomic.Bool
	go ran.Store(true)
	for range 10 {
		c.yielded = time.Time{}
		for range 64 {
			c.yield()
		}
	}
	require.True(t, ran.Load())
}

// The call has taken effect, and reports no error.
func TestContextThatEndsBehindACallFailsNothing(t *testing.T) {
	s := openTemp(t)
	x, err := s.DB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, view{s.backend.writer, x}.use(ctx, func(*sqlConn, *txn) error {
		cancel()
		return nil
	}))
	require.NoError(t, x.Commit())
}

// Each transaction of a busy process follows one of another.
func TestWritesOfOthersShareALook(t *testing.T) {
	s := openTemp(t)
	other, err := Open(t.Context(), s.backend.path, nil)
	require.NoError(t, err)
	defer other.Close()
	var looks atomic.Int64
	defer s.backend.Watch(func([]backend.Row) { looks.Add(1) })()
	begun := time.Now()
	for i := range 100 {
		for _, s := range []*Store{other, s} {
			_, err := s.Set(t.Context(), durable.Entry{Key: strconv.Itoa(i), Due: begun.Add(time.Hour)})
			require.NoError(t, err)
		}
	}
	periods := int64(time.Since(begun)/pollEvery) + 1
	require.LessOrEqual(t, looks.Load(), 1+2*periods, "one per tick, and one per period of transactions")
	require.Eventually(t, func() bool { return looks.Load() > 0 }, time.Minute, time.Millisecond)
}

// While Backup reads, the log grows.
func TestLogShrinksAfterALongRead(t *testing.T) {
	ctx := t.Context()
	s, err := Open(ctx, filepath.Join(t.TempDir(), "timers.db"), &Options{checkpoint: 10})
	require.NoError(t, err)
	defer s.Close()
	const limit = 4 * 10 * 4096
	size := func() int64 {
		log, err := os.Stat(s.backend.path + "-wal")
		require.NoError(t, err)
		return log.Size()
	}
	set := func(payload []byte) {
		_, err := s.Set(ctx, durable.Entry{Key: "k", Due: time.Now().Add(time.Hour), Payload: payload})
		require.NoError(t, err)
	}
	require.NoError(t, s.backend.apart(ctx, func(c *conn) error {
		defer c.rollback()
		if err := c.Exec("BEGIN; SELECT count(*) FROM hwt_entries"); err != nil {
			return err
		}
		set(make([]byte, 1<<20))
		return nil
	}))
	require.Greater(t, size(), int64(1<<20))
	for range 3 { // a checkpoint, and a new beginning of the log
		set(nil)
	}
	require.LessOrEqual(t, size(), int64(limit))
}

// The entry is near when its transaction commits, and was not when it was set.
func TestLongTransactionAnnouncesItsEntry(t *testing.T) {
	ctx := t.Context()
	s := openTemp(t)
	looks := make(chan struct{}, 100)
	defer s.backend.Watch(func([]backend.Row) { looks <- struct{}{} })()
	x, err := s.DB().BeginTx(ctx, nil)
	require.NoError(t, err)
	for len(looks) > 0 { // the first look after Open
		<-looks
	}
	due := time.Now().Add(s.backend.Limits().Lead + 100*time.Millisecond)
	_, err = s.Tx(x).Set(ctx, durable.Entry{Key: "k", Due: due})
	require.NoError(t, err)
	_, err = s.Tx(x).Set(ctx, durable.Entry{Key: "far", Due: due.Add(time.Hour)})
	require.NoError(t, err)
	time.Sleep(time.Until(due.Add(-s.backend.Limits().Lead))) // until due is within the lead, on the real clock
	require.NoError(t, x.Commit())
	require.NotEmpty(t, looks)
}

// No worker could renew its lease while another process held the lock. The first to get the lock
// afterwards must leave the entries of the others alone, whose outcomes are on their way.
func TestLeasesLastLongerByTheLocksOfOthers(t *testing.T) {
	ctx := t.Context()
	s := openTemp(t)
	b := s.backend
	worker, err := b.Heartbeat(ctx, 0, 5*time.Second)
	require.NoError(t, err)
	heir, err := b.Heartbeat(ctx, 0, time.Hour)
	require.NoError(t, err)
	e, err := s.Set(ctx, durable.Entry{Key: "k", Due: time.Now()})
	require.NoError(t, err)
	won, err := b.Claim(ctx, worker, []backend.Claim{{Ref: backend.Ref{Key: "k", Generation: e.Generation}}})
	require.NoError(t, err)
	require.Equal(t, []backend.Answer{backend.Won}, won)
	scope := backend.Scope{Group: "g"}
	require.NoError(t, b.SetLimit(ctx, backend.Limit{Scope: scope, Running: 1}))
	_, err = b.Share(ctx, worker, 0, []backend.Demand{{Scope: scope, Wants: 2}})
	require.NoError(t, err)
	now := time.Now()
	require.NoError(t, b.do(ctx, 1, func(t *txn) error {
		_, err := t.c.query("UPDATE hwt_workers SET expires = ? WHERE id = ?").int(now.Add(-time.Minute).UnixNano()).int(worker).exec()
		return err
	}))
	for name, c := range map[string]struct {
		from, to time.Duration
		adopts   int
	}{
		"before the lease":      {-3 * time.Hour, -2 * time.Hour, 1},
		"for less than a lease": {-65 * time.Second, -63 * time.Second, 1},
		"longer":                {-64 * time.Second, -2 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b.held.spans, b.held.lease = nil, time.Hour
			b.held.add(now.Add(c.from), now.Add(c.to))
			b.held.lease = 5 * time.Second
			require.NoError(t, b.read(ctx, func(reader *conn) error {
				gone, err := reader.gone(&b.held)
				require.Len(t, gone, c.adopts)
				return err
			}))
			grants, err := b.Share(ctx, heir, 0, []backend.Demand{{Scope: scope, Wants: 1}})
			require.NoError(t, err)
			all, err := b.Limited(ctx, backend.Version{Newest: -1})
			require.NoError(t, err)
			require.Equal(t, 2-c.adopts, all.Unaware, "workers that may not know the limit")
			require.Equal(t, 3-2*c.adopts, all.Limits[0].Wants)
			require.Equal(t, c.adopts, grants[0].Share, "an unaware worker lets no handler begin")
		})
	}
	_, err = b.Heartbeat(ctx, heir, 0)
	require.NoError(t, err)
}

func TestWriterNotesTheLocksOfOthers(t *testing.T) {
	s := openTemp(t)
	other, err := sqlite3.Open(s.backend.path)
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, other.Exec("BEGIN IMMEDIATE"))
	began := time.Now()
	result := make(chan error, 1)
	go func() {
		_, err := s.Set(t.Context(), durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
		result <- err
	}()
	time.Sleep(2 * leastSpan) // of the lock on the real clock
	require.NoError(t, other.Exec("ROLLBACK"))
	require.NoError(t, <-result)
	held := s.backend.held.since(time.Now().UnixNano())
	require.Zero(t, held, "no lease has been used")
	s.backend.held.use(time.Hour)
	held = s.backend.held.since(time.Now().UnixNano())
	require.Positive(t, held)
	require.Less(t, time.Duration(held), time.Since(began))
}

// Neither a call that returned its context's error nor a repetition of its group takes effect later.
func TestCallThatReturnedHasNoEffect(t *testing.T) {
	ctx := t.Context()
	s := openTemp(t)
	b := s.backend
	running, proceed := make(chan struct{}), make(chan struct{})
	group := make(chan error, 1)
	runs := 0
	go func() {
		group <- b.do(ctx, 1, func(*txn) error {
			if runs++; runs == 1 {
				close(running)
				<-proceed
			}
			return nil
		})
	}()
	<-running
	e, err := s.Set(canceled(t), durable.Entry{Key: "k", Due: time.Now().Add(time.Hour)})
	require.ErrorIs(t, err, context.Canceled, e)
	abandoned, abandon := context.WithCancel(ctx)
	returned := make(chan error, 1)
	joined := make(chan struct{})
	go func() {
		returned <- b.do(abandoned, 1, func(t *txn) error {
			select {
			case <-joined:
			default:
				close(joined)
			}
			abandon()
			time.Sleep(2 * afterContext) // a long statement: the caller returns before COMMIT
			_, err := t.c.query("CREATE TABLE abandoned (a)").exec()
			return err
		})
	}()
	require.Eventually(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.jobs) == 1
	}, time.Minute, time.Millisecond)
	close(proceed)
	<-joined
	require.ErrorIs(t, <-returned, context.Canceled)
	require.NoError(t, <-group)
	require.Equal(t, 2, runs, "the group ran again without the call")
	require.NoError(t, b.do(ctx, 1, func(t *txn) error {
		_, err := t.c.query("CREATE TABLE abandoned (a)").exec()
		return err
	}))
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// A change of a job that is withdrawn is in the way of another job of its group. A trigger rejects a third change.
func TestWithdrawnJobRejectsNoRowOfItsGroup(t *testing.T) {
	const unique = "CREATE UNIQUE INDEX one ON hwt_entries (payload); "
	const rollBack = `CREATE TRIGGER one BEFORE INSERT ON hwt_entries WHEN EXISTS (SELECT 1 FROM hwt_entries WHERE payload = new.payload)
		BEGIN SELECT RAISE(ROLLBACK, 'one'); END; `
	for name, c := range map[string]struct{ one, body string }{
		"abort":               {unique, "RAISE(ABORT, 'no')"},
		"rollback":            {unique, "RAISE(ROLLBACK, 'no')"},
		"rollback in the way": {rollBack, "RAISE(ABORT, 'no')"},
		"rollback of both":    {rollBack, "RAISE(ROLLBACK, 'no')"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, s := t.Context(), openTemp(t)
			b := s.backend
			_, err := s.DB().ExecContext(ctx, c.one+"CREATE TRIGGER reject BEFORE INSERT ON hwt_entries WHEN new.key = CAST('bad' AS BLOB) BEGIN SELECT "+c.body+"; END")
			require.NoError(t, err)
			op := func(key, payload string) backend.Op {
				return backend.Op{Row: backend.Row{Key: key, Due: 1, Payload: []byte(payload)}}
			}
			ops := []backend.Op{op("good", "1"), op("bad", "2")}
			pause := &job{alone: true, done: make(chan struct{}), run: func(*txn) error {
				assert.Eventually(t, func() bool { // the next group is the job in the way and the repetition
					b.mu.Lock()
					defer b.mu.Unlock()
					return len(b.jobs) == 2
				}, time.Minute, time.Millisecond)
				return nil
			}}
			inTheWay := &job{size: 1, done: make(chan struct{}), run: func(txn *txn) error {
				_, err := txn.apply(new(op("other", "1")))
				return err
			}}
			runs := 0
			rejected, err := b.doEach(ctx, len(ops), func(txn *txn) error {
				if runs++; runs == 1 {
					assert.NoError(t, errors.Join(b.enqueue(ctx, pause), b.enqueue(ctx, inTheWay)))
				}
				_, err := txn.applyAll(ops)
				if runs == 2 {
					assert.Error(t, txn.rejected[0])
					assert.True(t, inTheWay.withdraw())
				}
				return err
			})
			require.NoError(t, err)
			require.Len(t, rejected, 1)
			require.ErrorContains(t, rejected[1], "no")
			_, err = s.Get(ctx, "good")
			require.NoError(t, err)
			_, err = s.Get(ctx, "other")
			require.ErrorIs(t, err, durable.ErrNotFound)
		})
	}
}
