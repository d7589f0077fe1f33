// Package soak puts timers under everything at once, round after round: every
// operation at random from several goroutines, tasks that misbehave, Stop at any
// moment. All along no more timeouts may have ended than were accepted, after each
// round every single one must have had exactly one end, and at the end heap and
// goroutines must be back where they were.
package soak

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// Timer is what is soaked.
type Timer interface {
	hwt.Timer
	Pending() int64
	Stats() hwt.Stats
}

// Engine is a kind of timer.
type Engine struct {
	Name string
	Open func(Parts) (Timer, error)
}

// Parts is what a timer is to be made with.
type Parts struct {
	OnError  func(hwt.Timeout, error)
	Logger   *slog.Logger
	Executor hwt.Executor // nil: none
}

// Config says what to soak.
type Config struct {
	Engines []Engine
	For     time.Duration
	Round   time.Duration // how long a timer lives, at most
	Callers int           // goroutines that use a timer at once
	Seed    uint64
}

// Soak is a run of the whole. Run may be called once; Progress at any time.
type Soak struct {
	config     Config
	began      time.Time
	operations atomic.Int64
	rounds     atomic.Int64
	violations atomic.Int64
}

// New returns a Soak that has not begun.
func New(c Config) *Soak { return &Soak{config: c, began: time.Now()} }

// Progress is how far a Soak is.
type Progress struct {
	Elapsed                        time.Duration
	Rounds, Operations, Violations int64
}

// Progress may be called from any goroutine.
func (s *Soak) Progress() Progress {
	return Progress{time.Since(s.began), s.rounds.Load(), s.operations.Load(), s.violations.Load()}
}

// Run soaks the engines in turn until the time is over or ctx ends. An error
// means that a timer could not be made; what the timers did wrong is in the
// report.
func (s *Soak) Run(ctx context.Context) (*Report, error) {
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, s.config.For)
	defer cancel()
	r := &Report{Seed: s.config.Seed, Callers: s.config.Callers}
	for _, e := range s.config.Engines {
		r.Engines = append(r.Engines, &EngineReport{Engine: e.Name})
	}
	random := rand.New(rand.NewPCG(s.config.Seed, 0))
	for n := 0; n == 0 || ctx.Err() == nil; n++ {
		for i, e := range s.config.Engines {
			if err := s.round(ctx, e, r.Engines[i], random.Uint64()); err != nil {
				return nil, err
			}
		}
		if n == 0 { // the first time round fills caches and pools
			r.Before = settled(0)
		}
	}
	r.After = settled(r.Before.Goroutines)
	r.Elapsed = time.Since(s.began)
	r.Interrupted = parent.Err() != nil
	r.judge()
	return r, nil
}

// Memory is what a process holds.
type Memory struct {
	Heap       int64 `json:"heap_bytes"`
	Goroutines int   `json:"goroutines"`
}

// patience is how long what must come may take on a busy machine.
const patience = 10 * time.Second

// settled measures, once no more than so many goroutines are left or patience
// ends. Zero means any number, after a moment.
func settled(goroutines int) Memory {
	wait(func() bool { return runtime.NumGoroutine() <= goroutines }, min(patience, time.Duration(goroutines+1)*time.Second))
	runtime.GC()
	runtime.GC() // what the first one's cleanups let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Memory{Heap: int64(m.HeapAlloc), Goroutines: runtime.NumGoroutine()}
}

// wait waits until met, and returns false if that takes longer than limit.
func wait(met func() bool, limit time.Duration) bool {
	for deadline := time.Now().Add(limit); !met(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}
