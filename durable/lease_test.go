package durable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

func TestWorkerThatLosesItsLeaseIsFenced(t *testing.T) {
	inBubble(t, func(f *fixture) {
		causes := make(chan error, 1)
		defer f.work(func(ctx context.Context, firing durable.Firing) error {
			if firing.Key == "running" && len(f.times()) == 1 {
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return errors.New("ended")
			}
			return nil
		}, &durable.WorkOptions{Concurrency: 1})()
		f.setIn("running", time.Second)
		f.setIn("queued", time.Second+time.Millisecond)
		time.Sleep(2 * time.Second)
		f.b.set("Heartbeat", durable.ErrLeaseLost)
		time.Sleep(10 * time.Second)
		require.Equal(t, durable.ErrLeaseLost, <-causes)
		require.Len(t, f.times(), 1, "firings without a lease")
		f.b.set("Heartbeat", nil)
		time.Sleep(20 * time.Second)
		require.Len(t, f.times(), 3, "firings after the rows were adopted")
		assert.Equal(t, f.fired[0].ID, f.fired[1].ID)
		assert.Equal(t, 1, f.fired[1].Attempt)
		assert.EqualValues(t, 2, f.stats().Adopted)
		assert.NotZero(t, f.stats().Fenced)
	})
}

// An answer that comes after the end of the lease, by the worker's clock, does not revive it: the
// worker has dropped entries meanwhile.
func TestLateHeartbeatDoesNotReviveTheLease(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(func(_ context.Context, firing durable.Firing) error {
			if firing.Key == "running" {
				time.Sleep(5500 * time.Millisecond) // the lease ends at 6.25 s
			}
			return nil
		}, &durable.WorkOptions{Concurrency: 1})()
		f.setIn("running", time.Second)
		f.setIn("queued", time.Second+time.Millisecond)
		time.Sleep(500 * time.Millisecond)
		f.b.delay("Heartbeat", 2500*time.Millisecond) // at 3.75 and 7.5 s
		time.Sleep(7500 * time.Millisecond)
		require.NotZero(t, f.stats().Fenced)
		f.b.delay("Heartbeat", 0)
		time.Sleep(time.Minute)
		assert.Zero(t, f.stats().Claimed)
		assert.Equal(t, "queued", f.fired[len(f.fired)-1].Key)
	})
}

func TestHandlersContextEndsWithTheLease(t *testing.T) {
	for name, failure := range map[string]error{"no answer": errMute, "errors": errors.New("connection refused")} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				ended := make(chan time.Duration, 1)
				defer f.work(func(ctx context.Context, _ durable.Firing) error {
					if len(f.times()) == 1 {
						<-ctx.Done()
						ended <- time.Since(f.start)
					}
					return nil
				}, nil)()
				f.setIn("k", time.Second)
				time.Sleep(1500 * time.Millisecond) // renewed at 1.25 s
				f.b.delay("Heartbeat", 10*time.Millisecond)
				f.b.set("Heartbeat", failure)
				assert.Equal(t, 6250*time.Millisecond, <-ended)
				f.b.set("Heartbeat", nil)
				f.b.delay("Heartbeat", 0)
			})
		})
	}
}

// A handler that outlives the lease keeps the only copy of the row behind it in the queue.
func TestQueuedEntryAdoptedByItsWorkerFires(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(func(_ context.Context, firing durable.Firing) error {
			if firing.Key == "running" {
				time.Sleep(10 * time.Second)
			}
			return nil
		}, &durable.WorkOptions{Concurrency: 1})()
		f.setIn("running", time.Second)
		f.setIn("queued", time.Second+time.Millisecond)
		time.Sleep(2 * time.Second)
		f.b.set("Heartbeat", durable.ErrLeaseLost)
		time.Sleep(5 * time.Second)
		f.b.set("Heartbeat", nil)
		time.Sleep(time.Minute)
		assert.Zero(t, f.stats().Claimed)
		assert.Equal(t, "queued", f.fired[len(f.fired)-1].Key)
	})
}

func TestOverdueEntriesThatTheLeaseClaimsFire(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.b.leased = make(map[backend.Ref]bool)
		defer f.work(func(context.Context, durable.Firing) error {
			time.Sleep(time.Second)
			return nil
		}, &durable.WorkOptions{Concurrency: 1})()
		time.Sleep(time.Second)
		for i := range 20 { // more than wait in the queue, claimed
			f.setIn(fmt.Sprint(i), 0)
		}
		time.Sleep(time.Minute) // with sweeps
		assert.Len(t, f.times(), 20)
		assert.Zero(t, f.stats().Claimed)
	})
}

// The worker still holds the entry of its earlier lease, and the database returns it once.
func TestEntryOfAnEarlierLeaseFires(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.b.leased = make(map[backend.Ref]bool)
		defer f.work(nil, nil)()
		time.Sleep(2600 * time.Millisecond)
		f.b.set("Heartbeat", durable.ErrLeaseLost) // at 3.75 s
		time.Sleep(400 * time.Millisecond)
		f.setIn("k", 1800*time.Millisecond) // held immediately, leased only after 3.8 s
		time.Sleep(900 * time.Millisecond)
		require.NoError(t, f.b.Free(f.t.Context(), 0)) // Adopt frees the rows of the ended lease
		f.b.set("Heartbeat", nil)                      // a new lease at 4 s
		time.Sleep(time.Minute)
		assert.Equal(t, seconds(4.8), f.times())
	})
}

func TestNearEntriesLeaveRoomForLeasedOnes(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.b.leased = make(map[backend.Ref]bool)
		for i := range 5 {
			f.setIn(fmt.Sprint("leased", i), 500*time.Millisecond)
		}
		f.b.during = func() {
			f.b.during = nil
			for i := range 5 {
				f.setIn(fmt.Sprint("near", i), 500*time.Millisecond)
			}
		}
		defer f.work(nil, &durable.WorkOptions{MaxHeld: 5})()
		time.Sleep(time.Minute)
		assert.Len(t, f.times(), 10)
	})
}

func TestErrorsOfTheDatabaseAreRetried(t *testing.T) {
	for _, method := range workMethods {
		t.Run(method, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.setIn("k", 3*time.Second)
				defer f.work(nil, nil)()
				time.Sleep(time.Second)
				f.b.set(method, errors.New("the database is gone"))
				time.Sleep(4 * time.Second)
				f.b.set(method, nil)
				time.Sleep(20 * time.Second)
				require.Len(t, f.times(), 1)
				assert.GreaterOrEqual(t, f.at[0], 3*time.Second)
				assert.Empty(t, f.keys())
				assert.Zero(t, f.stats().Claimed)
			})
		})
	}
}

// The database stores the outcome and fails with another one.
func TestStoredOutcomeBesideAnErrorCounts(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.b.set("after Finish", errors.New("another outcome is rejected"))
		f.setIn("k", time.Second)
		end := f.work(func(context.Context, durable.Firing) error { return durable.GiveUp(errors.New("no")) }, nil)
		time.Sleep(2 * time.Second)
		assert.EqualValues(t, 1, f.stats().GivenUp)
		begun := time.Now()
		end()
		assert.Less(t, time.Since(begun), time.Second, "Work waits for an outcome that is stored")
	})
}

func TestSuccessOutlastsTheLease(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(nil, nil)()
		f.setIn("k", time.Second)
		time.Sleep(900 * time.Millisecond) // it is claimed
		f.b.setAll(errors.New("the database is gone"))
		time.Sleep(20 * time.Second)
		f.b.setAll(nil)
		time.Sleep(time.Minute)
		assert.Equal(t, seconds(1), f.times())
		assert.Zero(t, f.stats().Claimed)
	})
}

// The Work adopts the entry under its next lease, before the database stores the success.
func TestSuccessFollowsItsEntryToTheNextLease(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(nil, nil)()
		f.setIn("k", time.Second)
		time.Sleep(900 * time.Millisecond) // it is claimed
		f.b.set("Finish", errors.New("the row is locked"))
		f.b.set("Heartbeat", durable.ErrLeaseLost)
		time.Sleep(3 * time.Second)
		f.b.set("Heartbeat", nil)
		time.Sleep(20 * time.Second)
		require.EqualValues(t, 1, f.stats().Adopted)
		assert.Zero(t, f.stats().Succeeded)
		f.b.set("Finish", nil)
		time.Sleep(time.Minute)
		assert.Equal(t, seconds(1), f.times())
		st := f.stats()
		assert.Equal(t, []int64{0, 0, 1}, []int64{st.Pending, st.Claimed, st.Succeeded}, "pending, claimed, and succeeded")
		assert.NotContains(t, f.log.String(), lateText)
	})
}

// The Work adopts the entry under its next lease, while the database stores the success.
func TestSuccessOfTwoLeasesCountsOnce(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(nil, nil)()
		f.setIn("k", time.Second)
		time.Sleep(900 * time.Millisecond) // it is claimed
		f.b.delay("Finish", 8*time.Second)
		f.b.set("Heartbeat", durable.ErrLeaseLost)
		time.Sleep(3 * time.Second)
		f.b.set("Heartbeat", nil)
		time.Sleep(time.Minute)
		st := f.stats()
		require.EqualValues(t, 1, st.Adopted)
		assert.Equal(t, []int64{0, 0, 1, 1}, []int64{st.Pending, st.Claimed, st.Fired, st.Succeeded}, "pending, claimed, fired, and succeeded")
		assert.NotContains(t, f.log.String(), lateText)
	})
}

const lateText = "a handler succeeded after the end of the worker's lease"

// endLease ends the lease of the worker that has claimed a row of a key, unnoticed by the worker.
func (f *fixture) endLease(key string) {
	f.t.Helper()
	for _, r := range f.b.Rows(key) {
		if r.State == backend.Claimed {
			_, err := f.b.DB.Heartbeat(f.t.Context(), r.Holder, 0)
			require.NoError(f.t, err)
		}
	}
}

// A handler outlasts the lease, and succeeds while another worker repeats it.
func TestLateSuccessStartsNoSecondHandler(t *testing.T) {
	for name, c := range map[string]struct {
		every  durable.Every
		serial bool
	}{
		"serial": {durable.Every{}, true},
		"skip":   {durable.Every{Spec: "@every 4s"}, false},
		"queue":  {durable.Every{Spec: "@every 4s", Overlap: clock.OverlapQueueOne}, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				o := &overlaps{f: f, takes: 10 * time.Second, running: make(map[string]int)}
				handler := func(ctx context.Context, firing durable.Firing) error {
					if len(f.firings()) == 1 {
						time.Sleep(8 * time.Second)
						return nil
					}
					return o.handle(ctx, firing)
				}
				for range 2 {
					defer f.work(handler, &durable.WorkOptions{Serial: c.serial})()
				}
				f.setIn("k", time.Second, func(e *durable.Entry) { e.Every = c.every })
				time.Sleep(2 * time.Second)
				f.endLease("k")
				if c.serial {
					f.setIn("k", 0)
				}
				time.Sleep(30 * time.Second)
				f.mu.Lock()
				defer f.mu.Unlock()
				require.Greater(t, len(f.fired), 2)
				assert.Equal(t, f.fired[0].ID, f.fired[1].ID)
				assert.Less(t, f.at[1], 9*time.Second, "the first handler succeeds at 9 s")
				assert.GreaterOrEqual(t, f.at[2], f.at[1]+o.takes)
				assert.Equal(t, 1, o.most)
			})
		})
	}
}

func TestLateSuccessIsLoggedAndNotCounted(t *testing.T) {
	inBubble(t, func(f *fixture) {
		end := f.work(func(context.Context, durable.Firing) error {
			time.Sleep(10 * time.Second)
			return nil
		}, nil)
		f.setIn("k", time.Second)
		time.Sleep(2 * time.Second)
		f.endLease("k")
		other, err := f.b.DB.Heartbeat(f.t.Context(), 0, time.Hour)
		require.NoError(t, err)
		rows, err := f.b.Adopt(f.t.Context(), other, nil, 9)
		require.NoError(t, err)
		require.Len(t, rows, 1)
		_, err = f.b.DB.Claim(f.t.Context(), other, []backend.Claim{{Ref: rows[0].Ref(), Again: true}})
		require.NoError(t, err)
		time.Sleep(20 * time.Second)
		end()
		st := f.stats()
		assert.Equal(t, []int64{1, 1, 0}, []int64{st.Claimed, st.Fired, st.Succeeded}, "claimed, fired, and succeeded")
		assert.Equal(t, 1, strings.Count(f.log.String(), lateText))
	})
}

// The handler does not know yet that its lease has ended.
func TestDoneFailsOnceTheEntryIsTakenOver(t *testing.T) {
	inBubble(t, func(f *fixture) {
		end := f.work(func(ctx context.Context, firing durable.Firing) error {
			f.endLease("k")
			other, err := f.b.DB.Heartbeat(ctx, 0, time.Hour)
			assert.NoError(t, err)
			rows, err := f.b.Adopt(ctx, other, nil, 9)
			assert.NoError(t, err)
			assert.Len(t, rows, 1)
			_, err = f.b.DB.Claim(ctx, other, []backend.Claim{{Ref: rows[0].Ref(), Again: true}})
			assert.NoError(t, err)
			db, err := f.b.Begin(ctx)
			assert.NoError(t, err)
			assert.ErrorIs(t, durable.NewTx(f.Store, db).Done(ctx, firing), durable.ErrLeaseLost)
			assert.NoError(t, db.Rollback())
			return errors.New("lost")
		}, nil)
		f.setIn("k", time.Second)
		time.Sleep(20 * time.Second)
		end()
		assert.EqualValues(t, 1, f.stats().Claimed, "by the other worker")
	})
}

func TestOutcomesThatFailDelayNoClaim(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.b.delay("Finish", 3*time.Second)
		f.b.set("Finish", errors.New("the row is locked"))
		defer f.work(nil, nil)()
		for i := range 20 {
			f.setIn(fmt.Sprint(i), time.Duration(i+1)*time.Second)
		}
		time.Sleep(21 * time.Second)
		for i, at := range f.times() {
			assert.Equal(t, time.Duration(i+1)*time.Second, at)
		}
		assert.Len(t, f.times(), 20)
		f.b.set("Finish", nil)
	})
}

func TestClockSetBackMakesNoEntryEarly(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(nil, nil)()
		f.setIn("near", 10*time.Second)
		f.setIn("far", 20*time.Second)
		time.Sleep(9900 * time.Millisecond) // near is claimed
		f.b.shift(-5 * time.Second)
		time.Sleep(time.Minute)
		require.Len(t, f.times(), 2)
		assert.GreaterOrEqual(t, f.at[1], 25*time.Second)
	})
}

func TestClockSetBackAfterTheClaimMakesNoEntryEarly(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(nil, nil)()
		f.setIn("claimed", 10100*time.Millisecond)
		time.Sleep(9990 * time.Millisecond) // the worker reads the clock at 10 s
		f.b.shift(-500 * time.Millisecond)
		time.Sleep(time.Minute)
		assert.Equal(t, seconds(10.6), f.times())
	})
}

// The sweeps are at 10.6 and 15.6 s.
func TestClockSetBackMakesNoEntryLate(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.setIn("k", 11*time.Second)
		time.Sleep(600 * time.Millisecond)
		defer f.work(nil, nil)()
		time.Sleep(10200 * time.Millisecond)
		f.b.shift(-3 * time.Second)
		time.Sleep(time.Minute)
		assert.Equal(t, seconds(14), f.times())
	})
}

func TestNearEntriesPassABusyWork(t *testing.T) {
	inBubble(t, func(f *fixture) {
		proceed := make(chan struct{})
		defer f.work(func(context.Context, durable.Firing) error {
			<-proceed
			return nil
		}, &durable.WorkOptions{MaxHeld: 1})()
		defer close(proceed)
		f.setIn("busy", 0)
		time.Sleep(time.Second)
		defer f.work(nil, nil)()
		time.Sleep(time.Second)
		f.setIn("moves the watermark", 900*time.Millisecond)
		time.Sleep(500 * time.Millisecond)
		f.setIn("near", 300*time.Millisecond)
		f.setIn("near too", 300*time.Millisecond)
		time.Sleep(time.Second)
		assert.Equal(t, seconds(0, 2.8, 2.8, 2.9), f.times())
	})
}

// MaxHeld is reached by entries that are due later.
func TestFullWorkTakesASoonerEntry(t *testing.T) {
	for name, marks := range map[string]bool{"SQLite": false, "PostgreSQL": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				if marks {
					f.b.leased = make(map[backend.Ref]bool)
				}
				f.setIn("later", 900*time.Millisecond)
				defer f.work(nil, &durable.WorkOptions{MaxHeld: 1})()
				time.Sleep(300 * time.Millisecond) // it is leased
				f.setIn("sooner", 200*time.Millisecond)
				time.Sleep(time.Minute)
				require.Len(t, f.times(), 2)
				assert.Equal(t, "sooner", f.fired[0].Key)
				assert.Equal(t, 500*time.Millisecond, f.at[0])
				assert.Less(t, f.at[1], 2*time.Second)
			})
		})
	}
}

func TestEntryThatNoWorkTakesIsAnnounced(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(nil, nil)()
		time.Sleep(time.Second)
		f.setIn("taken", 300*time.Millisecond)
		assert.Zero(t, f.b.announced)
		_, err := f.Set(f.t.Context(), durable.Entry{Key: "left", Due: time.Now().Add(300 * time.Millisecond), Every: durable.Every{Schedule: "unknown here"}})
		require.NoError(t, err)
		assert.Equal(t, 1, f.b.announced)
	})
}

func TestEntryOfAFailedSetFiresSoon(t *testing.T) {
	inBubble(t, func(f *fixture) {
		defer f.work(nil, nil)()
		f.setIn("moves the watermark", 900*time.Millisecond)
		time.Sleep(500 * time.Millisecond)
		f.b.set("Apply", context.DeadlineExceeded)
		_, err := f.Set(f.t.Context(), durable.Entry{Key: "k", Due: time.Now()})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(10 * time.Second)
		require.Len(t, f.times(), 2)
		assert.Less(t, f.at[1], 2*time.Second, "before the next sweep, at 5 s")
	})
}

func TestDoneAcknowledgesInATransaction(t *testing.T) {
	inBubble(t, func(f *fixture) {
		other, err := durable.New(f.t.Context(), memdb.New(), nil)
		require.NoError(t, err)
		defer other.Close()
		defer f.work(func(ctx context.Context, firing durable.Firing) error {
			db, err := f.b.Begin(ctx)
			assert.NoError(t, err)
			tx := durable.NewTx(f.Store, db)
			assert.ErrorIs(t, tx.Done(ctx, durable.Firing{}), durable.ErrInvalid)
			assert.ErrorIs(t, durable.NewTx(f.Store, nil).Done(ctx, firing), durable.ErrInvalid)
			assert.ErrorContains(t, durable.NewTx(other, db).Done(ctx, firing), "another store")
			assert.NoError(t, tx.Done(ctx, firing))
			assert.ErrorIs(t, tx.Done(ctx, firing), durable.ErrLeaseLost)
			assert.NoError(t, db.Commit())
			return errors.New("the commit's answer was lost")
		}, nil)()
		f.setIn("k", time.Second)
		time.Sleep(time.Hour)
		assert.Len(t, f.times(), 1)
		assert.Empty(t, f.keys())
		assert.Zero(t, f.stats().Retried)
	})
}

// Entries that were soon due by the old time must not occupy MaxHeld until they are due.
func TestClockSetBackLeavesRoomForOtherEntries(t *testing.T) {
	for name, after := range map[string]time.Duration{
		"leased": 9500 * time.Millisecond, "claimed": 9990 * time.Millisecond, // the worker reads the clock at 10 s
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				defer f.work(nil, &durable.WorkOptions{MaxHeld: 1})()
				f.setIn("far", 10100*time.Millisecond)
				time.Sleep(after)
				f.b.shift(-10 * time.Minute)
				time.Sleep(time.Second)
				f.setIn("soon", -10*time.Minute)
				time.Sleep(time.Minute)
				assert.Len(t, f.times(), 1)
				time.Sleep(20 * time.Minute)
				assert.Len(t, f.times(), 2)
			})
		})
	}
}
