package hwt_test

import (
	"errors"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// slots is a simple worker pool: it runs a limited number of tasks concurrently and
// rejects further ones.
type slots chan struct{}

var errBusy = errors.New("pool is busy")

func (s slots) Submit(task func()) error {
	select {
	case s <- struct{}{}:
		go func() {
			defer func() { <-s }()
			task()
		}()
		return nil
	default:
		return errBusy
	}
}

// submit makes an Executor of a pool's method, in one line.
type submit func(task func()) error

func (f submit) Execute(task func()) error { return f(task) }

func TestRejectionsOfABusyPoolReachTheErrorHandler(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		pool := make(slots, 10)
		var refused, ran atomic.Int64
		timer := newTimer(t, hashedwheel.Options{
			Executor: submit(pool.Submit),
			ErrorHandler: func(timeout hwt.Timeout, err error) {
				assert.ErrorIs(t, err, errBusy)
				assert.True(t, timeout.IsExpired())
				refused.Add(1)
			},
		})
		for range 25 {
			_, err := timer.AfterFunc(time.Second, func() {
				time.Sleep(time.Minute) // would hold up the timer without the pool
				ran.Add(1)
			})
			require.NoError(t, err)
		}
		begin := time.Now()
		var after time.Duration
		_, err := timer.AfterFunc(70*time.Second, func() { after = time.Since(begin) })
		require.NoError(t, err)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.EqualValues(t, 10, ran.Load())
		assert.EqualValues(t, 15, refused.Load())
		assert.InDelta(t, 70*time.Second, after, float64(100*time.Millisecond))
		assert.EqualValues(t, 15, balanced(t, timer).ExecutorRejected)
	})
}

func TestPendingLimitShedsLoad(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t, hashedwheel.Options{MaxPendingTimeouts: 1000})
		shed, most := 0, int64(0)
		for range 10_000 {
			_, err := timer.AfterFunc(time.Second, func() {})
			most = max(most, timer.Pending())
			var limit *hwt.PendingLimitError
			if errors.As(err, &limit) {
				assert.EqualValues(t, 1000, limit.Max)
				shed++
			}
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		s := balanced(t, timer)
		assert.EqualValues(t, shed, s.Rejected)
		assert.EqualValues(t, 10_000-shed, s.Expired)
		assert.Positive(t, shed)
		assert.EqualValues(t, 1000, most, "all that is allowed")
	})
}

func TestBadTaskAmongManyFailsAlone(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t, hashedwheel.Options{Logger: slog.New(slog.DiscardHandler)})
		var ran atomic.Int64
		for i := range 1000 {
			_, err := timer.AfterFunc(time.Second, func() {
				switch i {
				case 300:
					panic("a bug")
				case 600:
					runtime.Goexit()
				}
				ran.Add(1)
			})
			require.NoError(t, err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.EqualValues(t, 998, ran.Load())
		s := balanced(t, timer)
		assert.EqualValues(t, 1, s.Panics)
		assert.EqualValues(t, 1, s.Failed)
		assert.EqualValues(t, 1000, s.Expired)
	})
}
