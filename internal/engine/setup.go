package engine

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/internal/enginekit"
)

const (
	forever    = enginekit.Forever
	never      = math.MaxInt64 // a time that the clock does not reach
	noDeadline = math.MinInt64 // the deadline of a timeout to drain soon
)

// maxOnTime is the lateness of the worker, from the beginning of a tick, at which callers begin
// to assist. Waking it takes some time.
const maxOnTime = time.Millisecond

// minHeld is the least bound of the cancelled timeouts that a timer with a limit holds.
const minHeld = 4096

// setup is the timer's configuration, the same for all its workers. Immutable after New.
// The objects that it points to are safe for concurrent use.
type setup struct {
	clock   *enginekit.Clock // counts from New, time zero of all deadlines
	tickDur int64            // in nanoseconds
	limit   *enginekit.Limit // of pending timeouts
	held    *atomic.Int64    // cancelled timeouts that are still held; unused without a limit. Atomic: written by all.
	wait    time.Duration    // the longest wait of Stop for users' code
	workers []*atomic.Int64  // the workers' goroutine numbers
	runner  *enginekit.Runner
	callers enginekit.Callers // whether callers are recorded
	labels  context.Context   // the pprof labels of workers
	rests   bool              // whether callers rest (P4)
	late    *sync.Map         // the numbers of goroutines that give late notices, and how often each is outstanding: int64 to int64. Safe for concurrent use.
}

func newSetup(cfg Config) setup {
	s := setup{
		clock:   new(enginekit.Clock),
		tickDur: int64(cfg.Tick),
		limit:   enginekit.NewLimit(cfg.MaxPending),
		held:    new(atomic.Int64),
		wait:    cfg.StopWait,
		workers: make([]*atomic.Int64, cfg.Workers),
		runner:  cfg.Runner,
		callers: enginekit.Callers(cfg.Callers),
		labels:  enginekit.TimerLabels(cfg.Runner.Name),
		late:    new(sync.Map),
	}
	s.clock.Start()
	s.rests = !s.clock.Inside()
	return s
}

// now returns the nanoseconds since the timer's start, by the monotonic clock.
func (s *setup) now() int64 { return s.clock.Now() }

// tickOf returns the first tick that has come no earlier than deadline.
func (s *setup) tickOf(deadline int64) int64 { return (deadline-1)/s.tickDur + 1 }

// maxHeld returns the bound of the cancelled timeouts that are still held.
func (s *setup) maxHeld() int64 { return max(s.limit.Max(), minHeld) }

// released accounts for n cancelled timeouts that are no longer held.
func (s *setup) released(n int64) {
	if s.limit.Max() > 0 {
		s.held.Add(-n)
	}
}

// onTime returns the lateness of the worker at which callers begin to assist it.
func (s *setup) onTime() int64 { return min(s.tickDur, int64(maxOnTime)) }

// alarmFor returns the first deadline of the tick that comes at the time given.
func (s *setup) alarmFor(at int64) int64 { return max(at-s.tickDur+1, 0) }

// timeOf returns the time at which tick has come; never if the clock does not
// reach it.
func (s *setup) timeOf(tick int64) int64 {
	if tick > (forever-1)/s.tickDur {
		return never
	}
	return tick * s.tickDur
}

// isWorker reports whether the goroutine id is one of the workers. One that is not known is
// not: waiting for a worker by mistake ends, and not waiting for it breaks a promise.
func (s *setup) isWorker(id int64) bool {
	return id != 0 && slices.ContainsFunc(s.workers, func(w *atomic.Int64) bool { return w.Load() == id })
}
