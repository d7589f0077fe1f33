package engine

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/internal/histogram"
)

const (
	// maxTimed is the greatest number of tasks that share a reading of the clock.
	maxTimed = 64

	// timedFor is the time for which tasks may share a reading. If they take longer,
	// the next one is timed alone.
	timedFor = 100 * time.Microsecond

	// A greatest value is kept for each of the latest intervals, so that it falls
	// again after a minute.
	interval  = int64(6 * time.Second)
	intervals = 10
)

// timing counts the lateness and the duration of tasks. The worker reads the clock for
// a batch of tasks and publishes the results with the next batch, so that a task costs
// no atomic operation.
type timing struct {
	// Worker only.
	size    int                       // tasks in the batch
	begun   int                       // how many of them have begun
	next    int                       // tasks in the next batch
	late    [histogram.Buckets]uint32 // lateness not yet published
	touched uint64                    // a bit for each bucket in which there is some
	sum     int64                     // of all that is not yet published
	at      int64                     // when the batch began

	// Atomic: written by the worker, read by Stats.
	counts [histogram.Buckets]atomic.Int64
	total  atomic.Int64 // of all lateness
	busy   atomic.Int64 // time in tasks

	slowest [intervals]atomic.Pointer[slowest] // Atomic: written by the worker and its watchdog.
}

// slowest is the slowest task of an interval.
type slowest struct {
	interval int64
	took     int64
	name     string
}

// beginTask makes sure that the task that begins now has a reading of the clock.
func (f *firing) beginTask() {
	if f.timing.begun == f.timing.size {
		f.beginBatch()
	}
	f.timing.begun++
}

func (f *firing) beginBatch() {
	m, now := &f.timing, f.timer.now()
	f.endBatch(now)
	m.at = now
	m.size = max(m.next, 1)
}

// endTiming ends the batch after the last task.
func (f *firing) endTiming() {
	f.endBatch(f.timer.now())
	f.timing.size = 0
}

// endBatch publishes the lateness of the current batch. It does nothing if no batch is
// open.
func (f *firing) endBatch(now int64) {
	m := &f.timing
	if m.begun == 0 {
		return
	}
	took := now - m.at
	m.busy.Add(took)
	if m.begun == 1 {
		m.noteSlow(now, took, f.at(f.progress()).task)
	}
	m.publish()
	if m.next = 1; took < int64(timedFor) {
		m.next = min(2*m.size, maxTimed)
	}
	m.begun = 0
}

// noteLate records the lateness of a task that begins.
func (m *timing) noteLate(deadline int64) {
	late := m.at - deadline
	i := histogram.BucketOf(late)
	m.late[i]++
	m.touched |= 1 << i
	m.sum += late
}

// publish shows the lateness of a batch to readers.
func (m *timing) publish() {
	for ; m.touched != 0; m.touched &= m.touched - 1 {
		i := bits.TrailingZeros64(m.touched)
		m.counts[i].Add(int64(m.late[i]))
		m.late[i] = 0
	}
	m.total.Add(m.sum)
	m.sum = 0
}

// noteSlow records a task and its duration, if it is the longest of its interval. now is
// negative in a synctest bubble, in which Stop of a timer outside may start a worker.
func (m *timing) noteSlow(now, took int64, tt hwt.TimerTask) {
	slot := &m.slowest[uint64(now/interval)%intervals]
	if s := slot.Load(); s == nil || s.interval != now/interval || s.took < took {
		slot.Store(&slowest{now / interval, took, enginekit.TaskName(tt)})
	}
}

func (m *timing) addTo(s *hwt.Stats, now int64) {
	for i := range m.counts {
		s.Lateness.Counts[i] += m.counts[i].Load()
	}
	s.Lateness.Sum += time.Duration(m.total.Load())
	s.TaskTime += time.Duration(m.busy.Load())
	for i := range m.slowest {
		seen := m.slowest[i].Load()
		if seen != nil && isRecent(seen.interval, now) && time.Duration(seen.took) > s.SlowestTaskTime {
			s.SlowestTask, s.SlowestTaskTime = seen.name, time.Duration(seen.took)
		}
	}
}

// isRecent reports whether the interval is one of the latest.
func isRecent(i, now int64) bool { return i <= now/interval && i > now/interval-intervals }

// lags is the distance by which the worker was behind. Atomic: written by the holder of
// Core.mu, read by Stats and by callers that may rest.
type lags struct {
	expected int64        // when the worker means to look next. Guarded by Core.mu.
	lookAt   atomic.Int64 // the same, for readers without mu
	greatest [intervals]struct{ interval, lag atomic.Int64 }
}

// expect records when the worker means to look next.
func (l *lags) expect(at int64) {
	l.expected = at
	l.lookAt.Store(at)
}

// look records that the worker, which meant to look when expected, looks now. A caller may
// have woken it earlier.
func (l *lags) look(now int64) { l.note(now, max(now-l.expected, 0)) }

// note records a lag. A reader that finds the new interval finds its lag, too.
func (l *lags) note(now, lag int64) {
	slot := &l.greatest[now/interval%intervals]
	if slot.interval.Load() != now/interval {
		slot.lag.Store(lag)
		slot.interval.Store(now / interval)
	} else if lag > slot.lag.Load() {
		slot.lag.Store(lag)
	}
}

// addTo adds the lags to s; the present one only if the worker still works.
func (l *lags) addTo(s *hwt.Stats, now int64, works bool) {
	if works {
		s.Lag = max(s.Lag, time.Duration(now-l.lookAt.Load()))
		s.MaxLag = max(s.MaxLag, s.Lag)
	}
	for i := range l.greatest {
		if slot := &l.greatest[i]; isRecent(slot.interval.Load(), now) {
			s.MaxLag = max(s.MaxLag, time.Duration(slot.lag.Load()))
		}
	}
}
