package idle_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

func TestSettingsOutOfRangeAreErrors(t *testing.T) {
	timer := newTimer(t, second)
	for want, options := range map[string]*idle.Options{
		"idle: Options.Activity: 4 (expected: 0 for the default, ActivityRead, ActivityWrite, or both)": {Activity: 4},
		"idle: Options.MaxAge: -1s (expected: 0 for no limit, or more)":                                 {MaxAge: -second},
	} {
		r, err := idle.New(timer, second, options)
		assert.EqualError(t, err, want)
		assert.Nil(t, r)
	}
	for _, timeout := range []time.Duration{0, -second} {
		_, err := idle.New(timer, timeout, nil)
		assert.EqualError(t, err, fmt.Sprintf("idle: New: timeout is %v (expected: a positive duration)", timeout))
	}
	for _, timer := range []hwt.Timer{nil, (*hashedwheel.Timer)(nil)} {
		_, err := idle.New(timer, second, nil)
		assert.EqualError(t, err, "idle: New: timer is nil (expected: an hwt.Timer)")
	}
}

func TestCloseEndsAllWatches(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var failed failures
		timer := newTimer(t, second)
		r := newReaper(t, timer, 10*second, &idle.Options{ErrorHandler: failed.add})
		things := make([]*thing, 200)
		watches := make([]*idle.Watch, 200)
		for i := range things {
			things[i] = newThing()
			watches[i] = r.Watch(things[i])
		}
		require.NoError(t, r.Close())
		require.NoError(t, r.Close())
		assert.Zero(t, timer.Pending())
		assert.Empty(t, failed.list())
		after := newThing()
		w := r.Watch(after)
		require.Len(t, failed.list(), 1)
		assert.ErrorIs(t, failed.list()[0], idle.ErrClosed)
		r.Wrap(&net.TCPConn{})
		assert.EqualError(t, failed.list()[1], "idle: not watching *net.TCPConn: idle: reaper is closed")
		w.Touch()
		watches[0].Stop()
		watches[1].SetTimeout(second)
		time.Sleep(time.Minute)
		assert.False(t, after.isClosed())
		for i, c := range things {
			require.False(t, c.isClosed())
			require.NoError(t, watches[i].Err())
		}
		s := conserved(t, r)
		assert.Zero(t, s.Watched)
		assert.EqualValues(t, 202, s.Dropped)
	})
}

func TestCloseClosesAllWithCloseAll(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		var reported events
		var failed failures
		r := newReaper(t, newTimer(t, second), 10*second, &idle.Options{ErrorHandler: failed.add, CloseAll: true, OnExpire: reported.add})
		near, _ := pipe(t)
		wrapped := r.Wrap(near)
		read := make(chan error)
		go func() {
			_, err := wrapped.Read(make([]byte, 1))
			read <- err
		}()
		synctest.Wait()
		things := make([]*thing, 200)
		for i := range things {
			things[i] = newThing()
			r.Watch(things[i])
		}
		require.NoError(t, r.Close())
		assert.ErrorIs(t, <-read, idle.ErrClosed)
		after := newThing()
		w := r.Watch(after)
		synctest.Wait()
		for _, c := range append(things, after) {
			require.Len(t, c.closes(), 1)
		}
		assert.ErrorIs(t, w.Err(), idle.ErrClosed)
		assert.Empty(t, reported.list())
		assert.Empty(t, failed.list())
		conserved(t, r)
	})
}

func TestEmptyGroupsAreDropped(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // a single shard
	r := newReaper(t, newTimer(t, second), time.Hour)
	for range 2 {
		watches := make([]*idle.Watch, 1000)
		for i := range watches {
			watches[i] = r.Watch(newThing())
		}
		assert.Equal(t, 16, idle.Groups(r), "64 watches each")
		for _, w := range watches {
			w.Stop()
		}
		assert.Equal(t, 1, idle.Groups(r), "for the next watch")
	}
}

func TestDefaultLogHasPanicsAndTheFirstRefusal(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	enginetest.Bubble(t, func(t *testing.T) {
		timer := newTimer(t, second)
		r := newReaper(t, timer, 10*second)
		r.Watch(closer(func() error { panic("from Close") }))
		r.Watch(closer(func() error { return io.ErrClosedPipe }))
		time.Sleep(20 * second)
		timer.Stop()
		r.Watch(newThing())
		r.Watch(newThing())
	})
	assert.Equal(t, 1, strings.Count(log.String(), "from Close\""))
	assert.Equal(t, 1, strings.Count(log.String(), "rejected"))
	assert.NotContains(t, log.String(), "closed pipe")
}
