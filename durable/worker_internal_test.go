package durable

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

// newTestWorker returns a worker that does not work yet.
func newTestWorker(t *testing.T) *worker {
	t.Helper()
	s, err := New(t.Context(), memdb.New(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	o, err := (&WorkOptions{}).complete()
	require.NoError(t, err)
	w, err := newWorker(t.Context(), s.env, s.works, []*kind{{options: o, counts: &kindCounts{}}}, make([]Handler, 1), nil)
	require.NoError(t, err)
	t.Cleanup(func() { w.wheel.Stop() })
	w.sharer.seen.Store(math.MaxUint64)
	return w
}

// The answer to a claim may come after the worker has registered anew.
func TestLateRefusalLeavesTheNextLease(t *testing.T) {
	w := newTestWorker(t)
	w.lease.renewed(0, 1, time.Now().Add(time.Hour))
	w.lease.lost(1)
	w.lease.renewed(0, 2, time.Now().Add(time.Hour))
	calls := w.lease.callContext()
	w.lease.lost(1)
	id, term, valid := w.lease.current()
	require.EqualValues(t, 2, id)
	require.True(t, valid && w.lease.holds(term))
	require.NoError(t, calls.Err())
	w.lease.lost(2)
	w.lease.renewed(2, 2, time.Now().Add(time.Hour))
	require.False(t, w.lease.holds(term), "a lease that was given up")
	require.ErrorIs(t, context.Cause(calls), ErrLeaseLost)
}

// Other workers take over the rows of the lost lease: the worker must not fire them by a later one.
func TestLateAnswerForALostLeaseIsLeftOut(t *testing.T) {
	w := newTestWorker(t)
	for id := range int64(2) {
		w.lease.lost(id)
		w.lease.renewed(0, id+1, time.Now().Add(time.Hour))
	}
	row := backend.Row{Key: "k", Generation: 1, Due: time.Now().Add(time.Hour).UnixNano(), Holder: 1}
	for _, row.State = range []backend.State{backend.Pending, backend.Claimed} {
		require.False(t, w.fetcher.accept(row, true))
		require.Empty(t, w.flights.rows)
	}
}

// The claim of a row is refused while another transaction has locked it. Its lease may be
// returned, and given to the same worker again, before the worker hears of the refusal.
func TestRefusedClaimLeavesARowThatWasLeasedAgain(t *testing.T) {
	w := newTestWorker(t)
	w.lease.renewed(0, 1, time.Now().Add(time.Hour))
	row := backend.Row{Key: "k", Generation: 1, Due: time.Now().Add(time.Hour).UnixNano()}
	require.True(t, w.fetcher.accept(row, true), "announced")
	row.Holder = 1
	require.True(t, w.fetcher.accept(row, true), "leased")
	first := w.flights.rows[row.Ref()]
	require.True(t, w.fetcher.accept(row, true), "leased again")
	w.claimer.answered(first, backend.Overtaken)
	require.NotNil(t, w.flights.rows[row.Ref()])
}

// On 32-bit platforms, the turn overflows after days.
func TestOffersContinueAfterTheTurnOverflows(t *testing.T) {
	w := newTestWorker(t)
	s := w.works
	s.taking = []*worker{w, w, w}
	for _, turn := range []uint{math.MaxInt, math.MaxUint} {
		s.turn = turn
		left := s.offer([]backend.Row{{Key: "k", Schedule: "unknown"}})
		require.Len(t, left, 1)
	}
}

// After a machine has slept, the network may take longer to return than the worker.
func TestStaleClockKeepsNoRowOfALostLease(t *testing.T) {
	w := newTestWorker(t)
	w.env.clock.now = func(context.Context) (time.Time, error) { return time.Time{}, errors.New("unreachable") }
	w.lease.renewed(0, 1, time.Now().Add(time.Hour))
	w.dispatchers[0].started = len(w.dispatchers[0].callers) // no other goroutine takes the row
	require.True(t, w.fetcher.accept(backend.Row{Key: "k", Generation: 1, Due: 1, State: backend.Claimed, Holder: 1}, true))
	*(*uint64)(unsafe.Pointer(&w.env.clock.at)) -= 10 << 30 // its wall time, by ten seconds
	w.dispatchers[0].fire(w.dispatchers[0].queue.get(), &w.dispatchers[0].callers[0])
	require.Len(t, w.flights.rows, 1)
	w.lease.lost(1)
	w.dispatchers[0].fire(w.dispatchers[0].queue.get(), &w.dispatchers[0].callers[0])
	require.Empty(t, w.flights.rows)
}

// A store without limits pays one look per backend.ShareEvery.
func TestWorkerWithoutLimitsRests(t *testing.T) {
	s := newTestWorker(t).sharer
	s.step(t.Context())
	require.Greater(t, s.step(t.Context()), backend.ShareEvery/2)
}

// whileClaiming is a backend that calls during before it answers claims.
type whileClaiming struct {
	backend.Backend
	during func()
	answer backend.Answer
}

func (b *whileClaiming) Claim(_ context.Context, _ int64, claims []backend.Claim) ([]backend.Answer, error) {
	b.during()
	return slices.Repeat([]backend.Answer{b.answer}, len(claims)), nil
}

// W4: the answer to a look at the database may be older than the claim of the row, and may come during or after the claim.
func TestClaimedRowStaysInTheTable(t *testing.T) {
	copies := map[string]backend.Row{"begun": {Detached: true}, "leased again": {Holder: 1}, "claimed": {Holder: 1, State: backend.Claimed}}
	for name, late := range copies {
		for _, during := range []bool{true, false} {
			for _, closes := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, during=%v, closes=%v", name, during, closes), func(t *testing.T) {
					w := newTestWorker(t)
					d := w.dispatchers[0]
					d.started = len(d.callers) // no other goroutine takes the row
					w.lease.renewed(0, 1, time.Now().Add(time.Hour))
					row := backend.Row{Key: "k", Generation: 1, Due: 1, Holder: 1}
					late.Key, late.Generation, late.Due = row.Key, row.Generation, row.Due
					require.True(t, w.fetcher.accept(row, true))
					interfere := func() {
						w.fetcher.accept(late, true)
						if closes {
							w.flights.close()
							w.claimer.close()
						}
					}
					b := &whileClaiming{w.env.backend, func() {}, backend.Won}
					if w.env.backend = b; during {
						b.during = interfere
					}
					w.claimer.flushOne(t.Context())
					if !during {
						interfere()
					}
					b.answer = backend.Overtaken
					w.claimer.flushOne(t.Context())
					require.NoError(t, w.flights.emptied.Err())
					require.Equal(t, 1, d.queue.len())
					require.Same(t, w.flights.rows[row.Ref()], d.queue.get())
					require.Equal(t, 1, w.flights.total.held)
				})
			}
		}
	}
}

// A call of Lease whose answer to COMMIT is lost reads the rows that the worker holds, and a row that Claim has claimed is one of
// them: the row is Tried. A call of Claim whose answer to COMMIT is lost reports a row as won that Lease has claimed.
func TestRowFiresOnceAfterALostAnswer(t *testing.T) {
	for name, c := range map[string]struct{ during, stored bool }{
		"the copy comes during the claim, and its outcome waits":     {during: true},
		"the copy comes during the claim, and its outcome is stored": {during: true, stored: true},
		"the copy comes after the claim, and the outcome waits":      {},
		"the copy comes after the claim, and the outcome is stored":  {stored: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorker(t)
			d := w.dispatchers[0]
			d.started = len(d.callers) // no other goroutine takes the row
			w.lease.renewed(0, 1, time.Now().Add(time.Hour))
			row := backend.Row{Key: "k", Generation: 1, Due: 1, Holder: 1}
			again := row
			again.State, again.Tried = backend.Claimed, !c.during
			fire := func() {
				h := d.queue.get()
				w.completer.finish(h, backend.Outcome{Fate: backend.Retry})
				if c.stored {
					w.completer.finished = nil
					h.move(storing)
					w.flights.remove(h)
				}
			}
			require.True(t, w.fetcher.accept(row, true))
			b := &whileClaiming{w.env.backend, func() {}, backend.Won}
			if w.env.backend = b; c.during {
				b.during = func() {
					w.fetcher.accept(again, true)
					fire()
				}
			}
			w.claimer.flushOne(t.Context())
			if !c.during {
				fire()
				require.True(t, w.fetcher.accept(again, true))
			}
			if c.stored {
				b.answer = backend.Overtaken
			}
			w.claimer.flushOne(t.Context())
			require.Zero(t, d.queue.len())
		})
	}
}

// finishing is a backend that calls during before it answers that no outcome applied.
type finishing struct {
	backend.Backend
	during func()
	calls  int
}

func (b *finishing) Finish(_ context.Context, _ int64, outcomes []backend.Outcome) ([]bool, error) {
	b.calls++
	b.during()
	return make([]bool, len(outcomes)), nil
}

// A failover to a standby that lags behind loses a claim, and a look claims the overdue row a second time while the worker stores
// the outcome of the first claim: the outcome did not apply to the pending row, and applies now.
func TestOutcomeOfARowThatIsClaimedTwiceIsStoredAgain(t *testing.T) {
	w := newTestWorker(t)
	w.lease.renewed(0, 1, time.Now().Add(time.Hour))
	w.dispatchers[0].started = len(w.dispatchers[0].callers)
	row := backend.Row{Key: "k", Generation: 1, Due: 1, Holder: 1, State: backend.Claimed}
	require.True(t, w.fetcher.accept(row, true))
	w.completer.finish(w.dispatchers[0].queue.get(), backend.Outcome{Fate: backend.Retry})
	b := &finishing{Backend: w.env.backend}
	b.during = func() {
		if b.calls == 1 {
			require.True(t, w.fetcher.accept(row, true))
		}
	}
	w.env.backend = b
	for range 3 {
		w.completer.flushOne(t.Context())
	}
	require.Equal(t, 2, b.calls)
	require.Empty(t, w.flights.rows)
}

// A failover to a standby that lags behind loses a claim: the row is pending, and the worker leases the row again.
func TestRowWithALostClaimIsLeasedAgain(t *testing.T) {
	w := newTestWorker(t)
	w.lease.renewed(0, 1, time.Now().Add(time.Hour))
	w.dispatchers[0].started = len(w.dispatchers[0].callers)
	row := backend.Row{Key: "k", Generation: 1, Due: 1, Holder: 1}
	require.True(t, w.fetcher.accept(row, true))
	w.env.backend = &whileClaiming{w.env.backend, func() {}, backend.Won}
	w.claimer.flushOne(t.Context())
	w.completer.finish(w.dispatchers[0].queue.get(), backend.Outcome{Fate: backend.Retry})
	require.True(t, w.fetcher.accept(row, true))
	require.False(t, w.sweep.unplanned.Load())
	w.env.backend = &finishing{Backend: w.env.backend, during: func() {}}
	w.completer.flushOne(t.Context())
	require.True(t, w.sweep.unplanned.Load())
	require.Empty(t, w.flights.rows)
}

// A failover to a standby that lags behind loses the adoption of a suspect, and the worker adopts or leases the row again while the
// database answers the claim of the suspect.
func TestSuspectThatIsAdoptedTwiceIsTriedAgain(t *testing.T) {
	for name, again := range map[string]backend.Row{
		"adopted": {State: backend.Claimed, Crashes: 1},
		"leased":  {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorker(t)
			t.Cleanup(func() { tried.end(w.flights) })
			d := w.dispatchers[0]
			d.started = len(d.callers) // no other goroutine takes the row
			w.lease.renewed(0, 1, time.Now().Add(time.Hour))
			row := backend.Row{Key: "k", Generation: 1, Due: 1, Holder: 1, State: backend.Claimed, Crashes: 1}
			again.Key, again.Generation, again.Due, again.Holder = row.Key, row.Generation, row.Due, row.Holder
			require.True(t, w.fetcher.accept(row, true))
			b := &whileClaiming{w.env.backend, func() { require.True(t, w.fetcher.accept(again, true)) }, backend.Overtaken}
			w.env.backend = b
			w.claimer.flushOne(t.Context())
			adopted := again.State == backend.Claimed
			require.Equal(t, adopted, len(w.flights.rows) == 1)
			require.Equal(t, !adopted, w.sweep.unplanned.Load(), "Free returns the row")
			b.during, b.answer = func() {}, backend.Won
			w.claimer.flushOne(t.Context())
			require.Equal(t, adopted, d.queue.len() == 1)
		})
	}
}
