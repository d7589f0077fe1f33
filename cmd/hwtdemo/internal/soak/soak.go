// Package soak runs timers under heavy load and checks that no timeout is lost,
// repeated or early. It works in rounds. Each round makes a timer, uses it from
// several goroutines, stops it, and checks its counts. All operations come in random
// order, at ticks from 1 ms to 300 ms. Tasks fail, panic, block and wait for their
// contexts, an executor rejects, and Stop or Shutdown comes at any moment. Batches
// must be one timeout for each task, deadlines must be exact, and All must yield the
// entries of each caller once. After a Shutdown without error no task may run.
//
// During a round no more timeouts may have ended than were accepted. After a
// round every timeout must have ended once. At the end, heap and goroutines must be
// back where they were.
package soak

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/engines"
)

// Config is the size of a [Soak].
type Config struct {
	Engines []engines.Engine
	For     time.Duration // length of the soak; the last round is cut short
	Round   time.Duration // life of a timer
	Callers int           // goroutines that use a timer
	Seed    uint64
}

// Soak is one run. Run may be called once, Progress at any time.
type Soak struct {
	config     Config
	began      time.Time
	operations atomic.Int64
	rounds     atomic.Int64
	violations atomic.Int64
	peak       int64 // the most goroutines when a task began, or at a look
}

// New returns a Soak that has not begun.
func New(c Config) *Soak { return &Soak{config: c, began: time.Now()} }

// Progress is the progress of a [Soak].
type Progress struct {
	Rounds, Operations, Violations int64
}

// Progress returns the progress of s.
func (s *Soak) Progress() Progress {
	return Progress{s.rounds.Load(), s.operations.Load(), s.violations.Load()}
}

// Run runs rounds with each engine in turn until the time is over or ctx ends,
// and at least one. It returns an error if a timer cannot be created. The
// faults of the timers are in the report.
func (s *Soak) Run(ctx context.Context) (*Report, error) {
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, s.config.For)
	defer cancel()
	r := newReport(s.config)
	idle := runtime.NumGoroutine()
	random := rand.New(rand.NewPCG(s.config.Seed, 0))
	for n := 0; n == 0 || ctx.Err() == nil; n++ {
		for i, e := range s.config.Engines {
			if err := s.round(ctx, e, n, random.Uint64(), r, r.Engines[i]); err != nil {
				return nil, err
			}
		}
		if n == 0 { // the first rounds fill caches and pools
			r.Before = s.restingMemory(idle, time.Second)
		}
	}
	r.After = s.restingMemory(r.Before.Goroutines, patience)
	r.Elapsed = time.Since(s.began)
	r.Interrupted = parent.Err() != nil
	r.checkMemory()
	return r, nil
}

// The ticks and the numbers of workers have their turns. A round has at least four ticks.
var (
	ticks   = [...]time.Duration{0: 1, 3: 300, 4: 100, 7: 10, 11: 1} // in milliseconds; 0 means 1
	workers = [...]int{1, 2, 7}
)

// round runs one round of e and adds it to the report.
func (s *Soak) round(ctx context.Context, e engines.Engine, number int, seed uint64, into *Report, engine *EngineReport) error {
	tick := max(ticks[number%len(ticks)], 1) * time.Millisecond
	length := max(s.config.Round, 4*tick)
	ctx, end := context.WithTimeout(ctx, length)
	defer end()
	r, err := newRound(e, tick, workers[(number+number/len(ticks))%len(workers)], length, seed, end)
	if err != nil {
		return err
	}
	seen := r.run(ctx, s.config.Callers)
	for _, text := range r.check(seen) {
		into.violated("%s, round %d, seed %d: %s", e.Name, engine.Rounds+1, seed, text)
		s.violations.Add(1)
	}
	engine.add(r, seen)
	s.peak = max(s.peak, r.peak.Load(), seen.peak)
	s.operations.Add(r.operations.Load())
	s.rounds.Add(1)
	return nil
}

// Memory is the memory of the process.
type Memory struct {
	Heap       int64
	Goroutines int
	Peak       int64 // until then, at a look or when a task began
}

// patience bounds the wait for an event on a busy machine. Tests set it.
var patience = 10 * time.Second

// restingMemory waits until at most that many goroutines are left, or limit has passed,
// and measures.
func (s *Soak) restingMemory(goroutines int, limit time.Duration) Memory {
	waitUntil(func() bool { return runtime.NumGoroutine() <= goroutines }, min(patience, limit))
	visitProcessors()
	runtime.GC()
	runtime.GC() // frees the memory that the first one's cleanups released
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Memory{Heap: int64(m.HeapAlloc), Goroutines: runtime.NumGoroutine(), Peak: s.peak}
}

// visitProcessors lets every processor run for a moment: only there does the runtime
// remove the stopped timers that the processor holds.
func visitProcessors() {
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for began := time.Now(); time.Since(began) < 20*time.Millisecond; {
				runtime.Gosched()
			}
		})
	}
	all.Wait()
}

// waitUntil waits until met returns true, or limit has passed.
func waitUntil(met func() bool, limit time.Duration) {
	for deadline := time.Now().Add(limit); !met() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}
