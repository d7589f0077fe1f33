package hwttest_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/hierarchical"
	"github.com/hashedwheel/hwt/internal/enginetest"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// This file does the same random operations on every engine and on a slice of deadlines,
// in fake time, and compares all results.
//
// Engines with a tick run a task at the first tick that is not before its deadline;
// runtimetimer runs it at the deadline. To make them agree at every operation, operations
// happen in the middle of a tick, and deadlines lie in the second half of one, including
// its end.

const (
	modelTick = 10 * time.Millisecond
	half      = modelTick / 2
	longest   = 50 * time.Hour // longest wait; a small hashed wheel wakes in each rotation
)

// op is one operation. The meaning of its fields depends on kind.
type op struct {
	kind  string
	which int           // index of a timeout, counted back from the last
	delay time.Duration // of schedule and reset
	wait  time.Duration // in whole ticks
}

// delays generates delays whose deadlines lie in the second half of a tick.
func delays() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		return ticks().Draw(t, "ticks") + rapid.SampledFrom([]time.Duration{1, half / 3, half - 1, half}).Draw(t, "more")
	})
}

// ticks generates durations of whole ticks, up to about three years.
func ticks() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		most := int64(1) << rapid.IntRange(0, 33).Draw(t, "magnitude")
		edge := rapid.Int64Range(-1, 1).Draw(t, "edge") // both sides of a power of two
		if rapid.Bool().Draw(t, "around") {
			return time.Duration(max(most+edge, 0)) * modelTick
		}
		return time.Duration(rapid.Int64Range(0, most).Draw(t, "n")) * modelTick
	})
}

func ops() *rapid.Generator[[]op] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) op {
		o := op{kind: rapid.SampledFrom([]string{
			"schedule", "schedule", "schedule", "never", "now", "cancel", "reset", "reset", "reset to now", "wait", "wait", "wait for next", "wait for next",
		}).Draw(t, "kind")}
		switch o.kind {
		case "schedule":
			o.delay = delays().Draw(t, "delay")
		case "never":
			o.delay = math.MaxInt64 - time.Duration(rapid.IntRange(0, 1).Draw(t, "less"))
		case "now", "reset to now":
			o.delay = rapid.SampledFrom([]time.Duration{0, -1, math.MinInt64}).Draw(t, "delay")
		case "reset":
			o.delay = delays().Draw(t, "delay")
		case "wait":
			o.wait = min(ticks().Draw(t, "wait"), longest)
		}
		if o.kind == "cancel" || o.kind == "reset" || o.kind == "reset to now" {
			o.which = rapid.IntRange(0, 20).Draw(t, "which")
		}
		return o
	}), 1, 60)
}

// entry is the model of a timeout. It is pending until its deadline or its cancellation.
type entry struct {
	deadline  time.Duration
	cancelled bool
}

// model gives the expected results.
type model []entry

const beyond = math.MaxInt64

func (m model) pending(i int, now time.Duration) bool { return !m[i].cancelled && m[i].deadline > now }

// next returns the earliest pending deadline.
func (m model) next(now time.Duration) time.Duration {
	next := time.Duration(beyond)
	for i := range m {
		if m.pending(i, now) {
			next = min(next, m[i].deadline)
		}
	}
	return next
}

// subject is an engine under test.
type subject struct {
	name     string
	timer    hwt.Engine
	tick     time.Duration // 0 for an engine without ticks
	timeouts []hwt.Timeout

	mu    sync.Mutex            // tasks may run concurrently
	fired map[int]time.Duration // time at which each task ran
	twice int                   // number of tasks that ran again
}

func (s *subject) fire(i int, now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, before := s.fired[i]; before {
		s.twice++
	}
	s.fired[i] = now
}

func (s *subject) firedAt(i int) (at time.Duration, ran bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ran = s.fired[i]
	return at, ran
}

func subjects(t *testing.T) []*subject {
	var all []*subject
	add := func(name string, tick time.Duration, timer hwt.Engine, err error) {
		require.NoError(t, err)
		all = append(all, &subject{name: name, tick: tick, timer: timer, fired: make(map[int]time.Duration)})
	}
	for _, size := range []int{8, 512} {
		timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: modelTick, TicksPerWheel: size})
		add(fmt.Sprint("hashedwheel of ", size), modelTick, timer, err)
	}
	for _, size := range []int{2, 3, 64} {
		timer, err := hierarchical.New(&hierarchical.Options{TickDuration: modelTick, TicksPerWheel: size})
		add(fmt.Sprint("hierarchical of ", size), modelTick, timer, err)
	}
	spread, err := hashedwheel.New(&hashedwheel.Options{TickDuration: modelTick, TicksPerWheel: 8, Workers: 2})
	add("hashedwheel with 2 workers", modelTick, spread, err)
	wide, err := hierarchical.New(&hierarchical.Options{TickDuration: modelTick, TicksPerWheel: 3, Workers: 7})
	add("hierarchical with 7 workers", modelTick, wide, err)
	timer, err := runtimetimer.New(nil)
	add("runtimetimer", 0, timer, err)
	return all
}

// trial runs the model and the engines side by side.
type trial struct {
	start    time.Time
	model    model
	subjects []*subject
	faults   []error
}

func (r *trial) now() time.Duration { return time.Since(r.start) }

func (r *trial) fault(s *subject, format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("%v, %s: %s", r.now(), s.name, fmt.Sprintf(format, args...)))
}

// agree compares the result of a call on every engine with the model's.
func agree[T comparable](r *trial, call string, want T, outcome func(s *subject) T) {
	for _, s := range r.subjects {
		if got := outcome(s); got != want {
			r.fault(s, "%s: %v, want %v", call, got, want)
		}
	}
}

func (r *trial) do(o op) {
	i := len(r.model) - 1 - o.which
	switch o.kind {
	case "schedule", "never", "now":
		r.schedule(o.delay)
	case "wait":
		r.wait(o.wait)
	case "wait for next":
		if next := r.model.next(r.now()); next-r.now() < longest {
			r.wait((next - r.now() + modelTick - 1) / modelTick * modelTick)
		}
	case "cancel":
		if i >= 0 {
			agree(r, fmt.Sprint("Cancel of ", i), r.model.pending(i, r.now()), func(s *subject) bool { return s.timeouts[i].Cancel() })
			r.model[i].cancelled = r.model[i].cancelled || r.model.pending(i, r.now())
		}
	case "reset", "reset to now":
		if i >= 0 {
			r.reset(i, o.delay)
		}
	}
	if o.delay <= 0 && o.wait == 0 {
		r.wait(modelTick) // lets due tasks run: now, or at the next tick
	}
	r.compare()
}

func (r *trial) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (r *trial) schedule(delay time.Duration) {
	i := len(r.model)
	r.model = append(r.model, entry{deadline: r.deadline(delay)})
	for _, s := range r.subjects {
		timeout, err := s.timer.AfterFunc(delay, func() { s.fire(i, r.now()) })
		if err != nil {
			r.fault(s, "schedule: %v", err)
		}
		s.timeouts = append(s.timeouts, timeout)
	}
}

func (r *trial) reset(i int, delay time.Duration) {
	pending := r.model.pending(i, r.now())
	agree(r, fmt.Sprint("Reset of ", i, " to ", delay), pending, func(s *subject) bool { return s.timeouts[i].Reset(delay) })
	if pending {
		r.model[i].deadline = r.deadline(delay)
	}
}

func (r *trial) deadline(delay time.Duration) time.Duration {
	return r.now() + min(max(delay, 0), beyond-r.now())
}

// compare checks all visible state of the engines.
func (r *trial) compare() {
	now, pending := r.now(), int64(0)
	for i, e := range r.model {
		agree(r, fmt.Sprint("IsCancelled of ", i), e.cancelled, func(s *subject) bool { return s.timeouts[i].IsCancelled() })
		expired := !e.cancelled && e.deadline <= now
		agree(r, fmt.Sprint("IsExpired of ", i), expired, func(s *subject) bool { return s.timeouts[i].IsExpired() })
		for _, s := range r.subjects {
			if at, ran := s.firedAt(i); ran != expired {
				r.fault(s, "%d ran: %v, want %v", i, ran, expired)
			} else if latest := s.instant(e.deadline); ran && (at < e.deadline || at > latest) {
				r.fault(s, "%d ran at %v, want %v to %v", i, at, e.deadline, latest)
			}
		}
		if r.model.pending(i, now) {
			pending++
		}
	}
	agree(r, "Pending", pending, func(s *subject) int64 { return s.timer.Pending() })
	agree(r, "runs twice", 0, func(s *subject) int { return s.twice })
}

// instant returns the latest time at which the engine runs a task with that deadline.
func (s *subject) instant(deadline time.Duration) time.Duration {
	if s.tick == 0 {
		return deadline
	}
	return (deadline + s.tick - 1) / s.tick * s.tick
}

// stop stops the engines. Each must return exactly the pending timeouts.
func (r *trial) stop() {
	want := make(map[int]bool)
	for i := range r.model {
		if r.model.pending(i, r.now()) {
			want[i] = true
		}
	}
	for _, s := range r.subjects {
		got := make(map[int]bool)
		for _, timeout := range s.timer.Stop() {
			i := slices.Index(s.timeouts, timeout)
			if got[i] {
				r.fault(s, "Stop returned %d twice", i)
			}
			got[i] = true
		}
		if !maps.Equal(got, want) {
			r.fault(s, "Stop returned %v, want %v", got, want)
		}
	}
	for i := range want {
		r.model[i].cancelled = true
	}
}

// run does all operations, and then Stop, in a new bubble.
func run(t *testing.T, ops []op) (fault error) {
	enginetest.Bubble(t, func(t *testing.T) {
		r := &trial{start: time.Now(), subjects: subjects(t)}
		r.wait(half)
		for _, o := range ops {
			r.do(o)
		}
		r.stop()
		r.compare()
		r.wait(time.Hour)
		r.compare()
		fault = errors.Join(r.faults...)
	})
	return fault
}

func property(t *testing.T) func(*rapid.T) {
	return func(rt *rapid.T) {
		if err := run(t, ops().Draw(rt, "ops")); err != nil {
			rt.Fatal(err)
		}
	}
}

func TestEveryEngineAgreesWithTheModel(t *testing.T) { rapid.Check(t, property(t)) }

func FuzzEveryEngineAgreesWithTheModel(f *testing.F) {
	f.Fuzz(func(t *testing.T, input []byte) { rapid.MakeFuzz(property(t))(t, input) })
}
