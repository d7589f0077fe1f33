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
// to assist. Waking the worker takes some time.
const maxOnTime = time.Millisecond

// minHeld is the least bound of the cancelled timeouts that a timer with a limit holds.
const minHeld = 4096

// env is the timer's configuration and clock, the same for all workers. Immutable after
// New. The objects behind the pointers are safe for concurrent use.
type env struct {
	clock   *enginekit.Clock  // counts nanoseconds from New, time zero of all deadlines
	tickDur int64             // in nanoseconds
	onTime  int64             // the lateness of the worker at which callers begin to assist
	limit   *enginekit.Limit  // of pending timeouts
	wait    time.Duration     // the longest wait of Stop for users' code
	workers []*atomic.Int64   // the workers' goroutine numbers
	runner  *enginekit.Runner // runs tasks
	callers enginekit.Callers // whether callers are recorded
	labels  context.Context   // the pprof labels of workers
	rests   bool              // whether callers rest (P4)
	late    *sync.Map         // the numbers of goroutines that give late notices, and how often each is outstanding: int64 to int64
}

func newEnv(cfg Config) env {
	e := env{
		clock:   new(enginekit.Clock),
		tickDur: int64(cfg.Tick),
		onTime:  int64(min(cfg.Tick, maxOnTime)),
		limit:   enginekit.NewLimit(cfg.MaxPending),
		wait:    cfg.StopWait,
		workers: make([]*atomic.Int64, cfg.Workers),
		runner:  cfg.Runner,
		callers: enginekit.Callers(cfg.Callers),
		labels:  enginekit.TimerLabels(cfg.Runner.Name),
		late:    new(sync.Map),
	}
	e.clock.Start()
	e.rests = !e.clock.Inside()
	return e
}

// addWorker makes the number of worker i known.
func (e *env) addWorker(i int, id *atomic.Int64) { e.workers[i] = id }

// beginLate records that the goroutine id gives a late notice. own is the number of times that
// the goroutine counts as outstanding.
func (e *env) beginLate(id, own int64) { e.late.Store(id, own) }

// endLate records that the late notice of the goroutine id has ended.
func (e *env) endLate(id int64) { e.late.Delete(id) }

// maxHeld returns the bound of the cancelled timeouts that are still held.
func (e *env) maxHeld() int64 { return max(e.limit.Max(), minHeld) }

// isWorker reports whether the goroutine id is a worker. A goroutine without a known number
// counts as no worker: an unnecessary wait for a worker ends, but a missing wait breaks a
// promise.
func (e *env) isWorker(id int64) bool {
	return id != 0 && slices.ContainsFunc(e.workers, func(w *atomic.Int64) bool { return w.Load() == id })
}
