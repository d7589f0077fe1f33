package durable_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

// fixture is a store on a memdb.DB in a synctest bubble.
type fixture struct {
	*durable.Store
	t     *testing.T
	b     *faulty
	start time.Time
	log   *journal

	mu    sync.Mutex
	fired []durable.Firing // Guarded by mu.
	at    []time.Duration  // times of the firings since start. Guarded by mu.
}

// journal is a log that tests read.
type journal struct {
	mu   sync.Mutex
	text strings.Builder // Guarded by mu.
}

func (j *journal) Write(text []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(text)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// faulty is a memdb.DB whose calls can fail.
type faulty struct {
	*memdb.DB
	mu        sync.Mutex
	fails     map[string]error         // Guarded by mu.
	offset    time.Duration            // of its clock. Guarded by mu.
	slow      map[string]time.Duration // until a method answers. Guarded by mu.
	leased    map[backend.Ref]bool     // if set, Lease returns each row once, and claims overdue ones, as PostgreSQL's does. Guarded by mu.
	announced int                      // calls of Announce. Guarded by mu.
	during    func()                   // called inside Lease, if set
	together  int                      // Limits.Together
	kinds     int                      // of the last lane of the last call of Lease. Guarded by mu.
	prepared  int                      // calls of PrepareKinds. Guarded by mu.
	adopts    atomic.Int64             // calls of Adopt
}

// together makes a database take lanes of several kinds in stores with fewer than a thousand entries.
func together(b *faulty) { b.together = 1000 }

// marked makes Lease mark rows, as PostgreSQL's does.
func marked(b *faulty) { b.leased = make(map[backend.Ref]bool) }

func (f *faulty) Limits() backend.Limits {
	limits := f.DB.Limits()
	limits.Together = f.together
	return limits
}

// looks returns the number of kinds in the last lane of the last call of Lease, and the number of calls of PrepareKinds.
func (f *faulty) looks() (kinds, prepared int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kinds, f.prepared
}

// errMute as the error of Heartbeat keeps it from answering until its context ends.
var errMute = errors.New("the database does not answer")

func (f *faulty) set(method string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails[method] = err
}

// workMethods are those that a Work cannot do without.
var workMethods = []string{"Now", "Lease", "Claim", "Finish", "Heartbeat"}

func (f *faulty) setAll(err error) {
	for _, method := range workMethods {
		f.set(method, err)
	}
}

// shift sets the offset of the database's clock.
func (f *faulty) shift(offset time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.offset = offset
}

func (f *faulty) fail(method string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fails[method]
}

func (f *faulty) Now(ctx context.Context) (time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Add(f.offset), f.fails["Now"]
}

// Apply fails, and takes place later, as if the caller's context had ended during the commit.
func (f *faulty) Apply(ctx context.Context, ops []backend.Op) ([]backend.Result, error) {
	if err := f.fail("Apply"); err != nil {
		time.AfterFunc(300*time.Millisecond, func() { _, _ = f.DB.Apply(context.Background(), ops) })
		return nil, err
	}
	return f.DB.Apply(ctx, ops)
}

func (f *faulty) Lease(ctx context.Context, req backend.LeaseRequest) ([]backend.Leased, error) {
	if err := f.fail("Lease"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.kinds = len(req.Lanes[len(req.Lanes)-1].Kinds)
	f.mu.Unlock()
	f.wait("Lease")
	lanes, err := f.DB.Lease(ctx, req)
	for i := range lanes {
		var marked error
		lanes[i].Rows, marked = f.mark(ctx, &req, lanes[i].Rows)
		err = cmp.Or(err, marked)
	}
	if f.during != nil {
		f.during()
	}
	return lanes, cmp.Or(err, f.fail("after Lease"))
}

// mark marks rows as leased, if leased is set.
func (f *faulty) mark(ctx context.Context, req *backend.LeaseRequest, rows []backend.Row) (_ []backend.Row, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.leased == nil {
		return rows, nil
	}
	rows = slices.DeleteFunc(rows, func(r backend.Row) bool { return f.leased[r.Ref()] })
	kept := rows[:0]
	for _, r := range rows {
		f.leased[r.Ref()], r.Holder = true, req.Worker
		if r.Due <= time.Now().UnixNano() && r.Crashes == 0 && !req.Unclaimed {
			r.State = backend.Claimed
			if won, e := f.DB.Claim(ctx, req.Worker, []backend.Claim{{Ref: r.Ref()}}); e != nil || won[0] != backend.Won {
				err = cmp.Or(err, e)
				continue // the worker has claimed it since
			}
		}
		kept = append(kept, r)
	}
	return kept, err
}

func (f *faulty) Free(context.Context, int64) error {
	if err := f.fail("Free"); err != nil {
		return err
	}
	f.mu.Lock()
	clear(f.leased)
	f.mu.Unlock()
	f.wait("Free")
	return nil
}

func (f *faulty) Adopt(ctx context.Context, worker int64, kinds []string, most int) ([]backend.Row, error) {
	f.adopts.Add(1)
	f.wait("Adopt")
	if err := f.fail("Adopt"); err != nil {
		return nil, err
	}
	return f.DB.Adopt(ctx, worker, kinds, most)
}

func (f *faulty) Limited(ctx context.Context, known backend.Version) (backend.Limited, error) {
	if err := f.fail("Limited"); err != nil {
		return backend.Limited{}, err
	}
	return f.DB.Limited(ctx, known)
}

func (f *faulty) PrepareKinds(ctx context.Context) error {
	f.mu.Lock()
	f.prepared++
	f.mu.Unlock()
	return cmp.Or(f.fail("PrepareKinds"), f.DB.PrepareKinds(ctx))
}

func (f *faulty) Close() error { return cmp.Or(f.DB.Close(), f.fail("Close")) }

func (f *faulty) Announce() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.announced++
}

// Stats fails at the end of ctx, as if the database did not answer.
func (f *faulty) Stats(ctx context.Context, due []int64) (backend.Stats, error) {
	if err := f.fail("Stats"); err != nil {
		<-ctx.Done()
		return backend.Stats{}, err
	}
	return f.DB.Stats(ctx, due)
}

func (f *faulty) Claim(ctx context.Context, worker int64, claims []backend.Claim) ([]backend.Answer, error) {
	if err := f.fail("Claim"); err != nil {
		return nil, err
	}
	return f.DB.Claim(ctx, worker, claims)
}

func (f *faulty) Finish(ctx context.Context, worker int64, outcomes []backend.Outcome) ([]bool, error) {
	f.wait("Finish")
	if err := f.fail("Finish"); err != nil {
		return nil, err
	}
	applied, err := f.DB.Finish(ctx, worker, outcomes)
	return applied, cmp.Or(err, f.fail("after Finish"))
}

func (f *faulty) Share(ctx context.Context, worker, newest int64, demands []backend.Demand) ([]backend.Grant, error) {
	f.wait(fmt.Sprint("Share of worker ", worker))
	if err := f.fail("Share"); err != nil {
		return nil, err
	}
	return f.DB.Share(ctx, worker, newest, demands)
}

func (f *faulty) Heartbeat(ctx context.Context, worker int64, ttl time.Duration) (int64, error) {
	if err := f.fail("Heartbeat"); err != nil {
		if f.wait("Heartbeat"); err == errMute {
			<-ctx.Done()
		}
		return 0, err
	}
	id, err := f.DB.Heartbeat(ctx, worker, ttl)
	f.wait("Heartbeat")
	return id, err
}

func (f *faulty) DeadPage(ctx context.Context, prefix string, after backend.Ref, most int) ([]backend.Dead, error) {
	f.wait("DeadPage")
	if err := f.fail("DeadPage"); err != nil {
		return nil, err
	}
	return f.DB.DeadPage(ctx, prefix, after, most)
}

func (f *faulty) delay(method string, slow time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slow[method] = slow
}

func (f *faulty) wait(method string) {
	f.mu.Lock()
	slow := f.slow[method]
	f.mu.Unlock()
	time.Sleep(slow)
}

// inBubble runs a test on fake time. Each of change changes the database first.
func inBubble(t *testing.T, test func(f *fixture), change ...func(*faulty)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := openFaulty(t, durable.Options{}, change...)
		test(f)
		require.NoError(t, f.Close())
	})
}

// openFaulty opens a store with options of a test. Each of change changes the database first.
func openFaulty(t *testing.T, o durable.Options, change ...func(*faulty)) *fixture {
	t.Helper()
	f := &fixture{t: t, b: &faulty{DB: memdb.New(), fails: make(map[string]error), slow: make(map[string]time.Duration)}, start: time.Now(), log: &journal{}}
	for _, c := range change {
		c(f.b)
	}
	o.Logger = f.log.logger()
	var err error
	f.Store, err = durable.New(t.Context(), f.b, &o)
	require.NoError(t, err)
	return f
}

// note records a firing.
func (f *fixture) note(firing durable.Firing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fired = append(f.fired, firing)
	f.at = append(f.at, time.Since(f.start).Truncate(time.Millisecond))
}

func (f *fixture) times() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

// work starts a Work whose handler notes the firing and then calls handler, if there is
// one. The returned function ends the Work and waits for it.
func (f *fixture) work(handler durable.Handler, options *durable.WorkOptions) (end func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	done := make(chan error, 1)
	go func() {
		done <- f.Work(ctx, func(ctx context.Context, firing durable.Firing) error {
			f.note(firing)
			if handler == nil {
				return nil
			}
			return handler(ctx, firing)
		}, options)
	}()
	return func() {
		cancel()
		assert.NoError(f.t, <-done)
	}
}

// setIn stores an entry that is due after d. Each of change changes it first.
func (f *fixture) setIn(key string, d time.Duration, change ...func(*durable.Entry)) durable.Entry {
	f.t.Helper()
	e := durable.Entry{Key: key, Due: time.Now().Add(d), Payload: []byte(key)}
	for _, c := range change {
		c(&e)
	}
	e, err := f.Set(f.t.Context(), e)
	require.NoError(f.t, err)
	return e
}

func notAfter(t time.Time) func(*durable.Entry) { return func(e *durable.Entry) { e.NotAfter = t } }

// stats reads the numbers. It returns the old sizes if the database does not answer.
func (f *fixture) stats() durable.Stats {
	st, _ := f.Stats(f.t.Context())
	return st
}

func (f *fixture) keys() (keys []string) {
	f.t.Helper()
	for e, err := range f.All(f.t.Context(), "") {
		require.NoError(f.t, err)
		keys = append(keys, e.Key)
	}
	return keys
}

func (f *fixture) dead() (dead []durable.DeadLetter) {
	f.t.Helper()
	for d, err := range f.Dead(f.t.Context(), "") {
		require.NoError(f.t, err)
		dead = append(dead, d)
	}
	return dead
}

// takePermits gives permits of the limit of the store to a worker.
func (f *fixture) takePermits(worker int64, n int) {
	f.t.Helper()
	_, err := f.b.Share(f.t.Context(), worker, math.MaxInt64, []backend.Demand{{Wants: n}})
	require.NoError(f.t, err)
}

func seconds(all ...float64) (ds []time.Duration) {
	for _, s := range all {
		ds = append(ds, time.Duration(s*float64(time.Second)))
	}
	return ds
}
