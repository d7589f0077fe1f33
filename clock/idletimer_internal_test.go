package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// idleTimer accepts timeouts, which expire only when a test calls expire.
type idleTimer struct{ hwt.Timer }

type idleTimeout struct {
	hwt.Timeout
	task               hwt.TimerTask
	delay              time.Duration
	armed              time.Time
	expired, cancelled bool
}

func (t *idleTimeout) Task() hwt.TimerTask      { return t.task }
func (t *idleTimeout) Deadline() time.Time      { return t.armed.Add(t.delay) }
func (t *idleTimeout) Cancel() bool             { t.cancelled = true; return true }
func (t *idleTimeout) IsCancelled() bool        { return t.cancelled }
func (t *idleTimeout) IsExpired() bool          { return t.expired }
func (t *idleTimeout) Reset(time.Duration) bool { return !t.expired && !t.cancelled }

func (idleTimer) NewTimeout(task hwt.TimerTask, d time.Duration) (hwt.Timeout, error) {
	return &idleTimeout{task: task, delay: d, armed: time.Now()}, nil
}

// expire makes a timeout of an idleTimer expire, and runs its task.
func expire(t *testing.T, timeout hwt.Timeout) {
	t.Helper()
	timeout.(*idleTimeout).expired = true
	require.NoError(t, timeout.(*idleTimeout).task.Run(timeout))
}

// newIdleClock returns a clock on an idleTimer.
func newIdleClock(t *testing.T) *Clock {
	t.Helper()
	c, err := New(idleTimer{}, &Options{ErrorHandler: func(error) {}})
	require.NoError(t, err)
	return c
}
