package idle_test

import (
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

const second = time.Second

func TestCloseIsNeitherEarlyNorMoreThanATickLate(t *testing.T) {
	for _, tick := range []time.Duration{time.Millisecond, 70 * time.Millisecond, second} {
		for _, offset := range []time.Duration{0, 1, 333 * time.Millisecond} {
			t.Run(fmt.Sprintf("tick=%v/offset=%v", tick, offset), func(t *testing.T) {
				enginetest.Bubble(t, func(t *testing.T) {
					r := newReaper(t, newTimer(t, tick), 10*second)
					time.Sleep(offset)
					things := make([]*thing, 200) // several groups
					for i := range things {
						things[i] = newThing()
						r.Watch(things[i])
						time.Sleep(17 * time.Millisecond)
					}
					time.Sleep(time.Minute)
					for _, c := range things {
						require.Len(t, c.closes(), 1)
						late := c.closes()[0] - 10*second
						assert.GreaterOrEqual(t, late, time.Duration(0))
						assert.LessOrEqual(t, late, tick)
					}
				})
			})
		}
	}
}

func TestRuntimeTimerClosesOnTime(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, newRuntimeTimer(t), 10*second)
		c := newThing()
		w := r.Watch(c)
		time.Sleep(7 * second)
		w.Touch()
		time.Sleep(time.Minute)
		assert.Equal(t, []time.Duration{17 * second}, c.closes())
	})
}

func TestHierarchicalTimerClosesOnTime(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		const tick = 10 * time.Millisecond
		r := newReaper(t, newHierarchical(t, tick), time.Hour)
		things := make([]*thing, 200)
		for i := range things {
			things[i] = newThing()
			w := r.Watch(things[i])
			w.SetTimeout(time.Duration(i+1) * time.Minute)
			time.Sleep(13 * time.Millisecond)
			w.Touch()
		}
		time.Sleep(4 * time.Hour)
		for i, c := range things {
			require.Len(t, c.closes(), 1)
			late := c.closes()[0] - 13*time.Millisecond - time.Duration(i+1)*time.Minute
			require.GreaterOrEqual(t, late, time.Duration(0))
			require.LessOrEqual(t, late, tick)
		}
	})
}

func TestWholeTimeoutFollowsATouch(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, newTimer(t, second), 10*second)
		c := newThing()
		w := r.Watch(c)
		for range 50 {
			time.Sleep(9*second + 900*time.Millisecond)
			w.Touch()
		}
		assert.False(t, c.isClosed())
		assert.NoError(t, w.Err())
		time.Sleep(9*second + 999*time.Millisecond)
		assert.Equal(t, 9*second+999*time.Millisecond, w.Idle())
		assert.False(t, c.isClosed())
		time.Sleep(second + time.Millisecond)
		assert.True(t, c.isClosed())
		assert.ErrorIs(t, w.Err(), idle.ErrIdle)
		w.Touch()
		w.Stop()
		assert.ErrorIs(t, w.Err(), idle.ErrIdle)
		assert.Len(t, c.closes(), 1)
	})
}

func TestIdleWatchAmongActiveOnesIsClosedOnTime(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, newTimer(t, second), 10*second)
		busy := make([]*idle.Watch, 100)
		for i := range busy {
			busy[i] = r.Watch(newThing())
		}
		silent := newThing()
		w := r.Watch(silent)
		for i := range 60 {
			if i <= 23 {
				w.Touch()
			}
			time.Sleep(second)
			for _, b := range busy {
				b.Touch()
			}
		}
		require.Len(t, silent.closes(), 1)
		assert.GreaterOrEqual(t, silent.closes()[0], 33*second)
		assert.LessOrEqual(t, silent.closes()[0], 34*second)
		assert.EqualValues(t, 100, conserved(t, r).Watched)
	})
}

func TestStopEndsTheWatch(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t, second)
		r := newReaper(t, timer, 10*second)
		c := newThing()
		watches := make([]*idle.Watch, 300)
		for i := range watches {
			watches[i] = r.Watch(c)
		}
		assert.Positive(t, timer.Pending())
		for _, w := range watches {
			w.Stop()
			w.Stop()
		}
		assert.Zero(t, timer.Pending())
		s := conserved(t, r)
		assert.Zero(t, s.Watched)
		assert.EqualValues(t, 300, s.Stopped)
		time.Sleep(time.Minute)
		assert.False(t, c.isClosed())
		assert.NoError(t, watches[0].Err())
	})
}

func TestTimeoutCanChange(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		r := newReaper(t, newTimer(t, second), 10*second)
		shorter, longer, back, late := newThing(), newThing(), newThing(), newThing()
		r.Watch(shorter).SetTimeout(3 * second)
		r.Watch(longer).SetTimeout(30 * second)
		w := r.Watch(back)
		w.SetTimeout(time.Hour)
		w.SetTimeout(0)
		assert.Equal(t, 10*second, w.Timeout())
		w = r.Watch(late)
		time.Sleep(5 * second)
		w.SetTimeout(second) // it was silent for longer
		time.Sleep(time.Minute)
		for c, at := range map[*thing]time.Duration{shorter: 3 * second, longer: 30 * second, back: 10 * second, late: 5 * second} {
			require.Len(t, c.closes(), 1)
			assert.GreaterOrEqual(t, c.closes()[0], at)
			assert.LessOrEqual(t, c.closes()[0], at+second)
		}
	})
}

func TestTimeoutBeyondTheClockNeverComes(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t, second)
		r := newReaper(t, timer, math.MaxInt64)
		c, d := newThing(), newThing()
		time.Sleep(second)
		w := r.Watch(c)
		assert.Zero(t, timer.Pending())
		r.Watch(d).SetTimeout(5 * second) // in the same group
		time.Sleep(1000 * time.Hour)
		assert.False(t, c.isClosed())
		assert.True(t, d.isClosed())
		w.Stop()
	})
}

func TestTimeoutOf(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		own := newThing()
		r := newReaper(t, newTimer(t, second), 10*second, &idle.Options{TimeoutOf: func(c io.Closer) time.Duration {
			if c == io.Closer(own) {
				return 2 * second
			}
			return 0
		}})
		r.Watch(own)
		common := newThing()
		r.Watch(common)
		time.Sleep(time.Minute)
		assert.Less(t, own.closes()[0], 4*second)
		assert.GreaterOrEqual(t, common.closes()[0], 10*second)
	})
}

func TestMaxAgeEndsActiveWatches(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var reported events
		r := newReaper(t, newTimer(t, second), 10*second, &idle.Options{MaxAge: time.Minute, OnExpire: reported.add})
		c := newThing()
		w := r.Watch(c)
		for range 70 {
			time.Sleep(second)
			w.Touch()
		}
		require.Len(t, c.closes(), 1)
		assert.GreaterOrEqual(t, c.closes()[0], time.Minute)
		assert.LessOrEqual(t, c.closes()[0], time.Minute+second)
		assert.ErrorIs(t, w.Err(), idle.ErrTooOld)
		assert.EqualValues(t, 1, conserved(t, r).TooOld)
		require.Len(t, reported.list(), 1)
		e := reported.list()[0]
		assert.Equal(t, idle.ErrTooOld, e.Reason)
		assert.LessOrEqual(t, e.Idle, second)
		assert.GreaterOrEqual(t, e.Age, time.Minute)
	})
}

func TestOnExpireComesBeforeTheClose(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		c := newThing()
		var reported events
		r := newReaper(t, newTimer(t, second), 10*second, &idle.Options{OnExpire: func(e idle.Event) {
			assert.False(t, c.isClosed())
			reported.add(e)
		}})
		w := r.Watch(c)
		time.Sleep(4 * second)
		w.Touch()
		time.Sleep(20 * second)
		require.Len(t, reported.list(), 1)
		e := reported.list()[0]
		assert.Equal(t, io.Closer(c), e.Closer)
		assert.Equal(t, idle.ErrIdle, e.Reason)
		assert.Equal(t, 10*second, e.Timeout)
		assert.GreaterOrEqual(t, e.Idle, 10*second)
		assert.LessOrEqual(t, e.Idle, 11*second)
		assert.Equal(t, 4*second, e.Age-e.Idle)
		assert.True(t, c.isClosed())
	})
}

func TestOnExpireMaySendALastMessage(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		near, far := pipe(t)
		r := newReaper(t, newTimer(t, second), 10*second, &idle.Options{OnExpire: func(e idle.Event) {
			_, err := io.WriteString(e.Closer.(io.Writer), "bye")
			assert.NoError(t, err)
		}})
		c := r.Wrap(near)
		got, err := io.ReadAll(far)
		assert.NoError(t, err)
		assert.Equal(t, "bye", string(got))
		_, err = c.Write([]byte("again"))
		assert.ErrorIs(t, err, idle.ErrIdle)
	})
}

// The deterministic part of TestIdleTimeIsNeverNegative.
func TestTouchAfterTheClockOfAScanLeavesNoNegativeIdleTime(t *testing.T) {
	r := newReaper(t, newRuntimeTimer(t), time.Hour, &idle.Options{MaxAge: time.Hour})
	events := idle.EndLate(r.Watch(&once{}), 3*time.Hour+1, 3*time.Hour)
	if assert.Len(t, events, 1) {
		assert.Equal(t, idle.ErrTooOld, events[0].Reason)
		assert.Zero(t, events[0].Idle)
	}
}
