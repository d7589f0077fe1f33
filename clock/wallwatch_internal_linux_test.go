package clock

import (
	"flag"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/runtimetimer"
)

var setClock = flag.Bool("setclock", false, "set the machine's clock to its own time, as root, to measure how soon that is noticed")

// watching returns the number of goroutines that watch the wall clock.
func watching() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "created by github.com/hashedwheel/hwt/clock.watchSteps")
}

// TestWatchEndsWithItsUse uses the real clock, since a bubble's never steps.
func TestWatchEndsWithItsUse(t *testing.T) {
	for name, end := range map[string]func(timer *runtimetimer.Timer, job *Job){
		"last job":    func(_ *runtimetimer.Timer, job *Job) { job.Stop() },
		"timer's end": func(timer *runtimetimer.Timer, _ *Job) { timer.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			timer, err := runtimetimer.New(nil)
			require.NoError(t, err)
			defer timer.Stop()
			c, err := New(timer, nil)
			require.NoError(t, err)
			job, err := c.ScheduleFunc(hourly{}, func() {}, nil)
			require.NoError(t, err)
			other, err := c.ScheduleFunc(hourly{}, func() {}, nil)
			require.NoError(t, err)
			other.Stop()
			assert.Equal(t, 2, watching(), "one reads, and one waits for the end")
			assert.Zero(t, c.wall.timeout, "nothing polls")
			end(timer, job)
			assert.Eventually(t, func() bool { return watching() == 0 }, 20*time.Second, time.Millisecond)
		})
	}
}

func TestStoppedTimerHasNoWatch(t *testing.T) {
	timer, err := runtimetimer.New(nil)
	require.NoError(t, err)
	timer.Stop()
	c, err := New(timer, &Options{ErrorHandler: func(error) {}})
	require.NoError(t, err)
	job, err := c.ScheduleFunc(hourly{}, func() {}, nil)
	require.NoError(t, err)
	assert.Zero(t, watching())
	assert.NotZero(t, c.wall.timeout)
	job.Stop()
}

// TestKernelReportsASetClock needs the flag, because it sets the clock of the machine to the
// time that it shows.
func TestKernelReportsASetClock(t *testing.T) {
	if !*setClock {
		t.Skip("sets the machine's clock; run it with -setclock")
	}
	noticed := make(chan time.Time, 16)
	stop := watchSteps(nil, func() { noticed <- time.Now() })
	require.NotNil(t, stop)
	defer stop()
	for range 5 {
		now := syscall.NsecToTimespec(time.Now().UnixNano())
		began := time.Now()
		_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_SETTIME, clockRealtime, uintptr(unsafe.Pointer(&now)), 0)
		require.Zero(t, errno)
		took := (<-noticed).Sub(began)
		assert.Less(t, took, 10*time.Millisecond)
		t.Log(took)
		time.Sleep(10 * time.Millisecond) // The kernel may report a step twice.
		for len(noticed) > 0 {
			<-noticed
		}
	}
}
