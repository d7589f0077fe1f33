package engines

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt/bench/internal/spec"
	"github.com/hashedwheel/hwt/internal/cacheline"
)

// floorKind shows how much of a measurement is not the timer's.
var floorKind = Kind{
	Name: "floor", Package: "no timer", Setting: "allocates, reads the clock, and writes a word; calls tasks from a slice in due order, and prefetches them",
	Floor: true, Verdict: true,
	Only: []string{spec.Schedule, spec.Cancel, spec.ResetAll, spec.Expire, spec.Burst},
	New:  func() (Engine, error) { return &Floor{start: time.Now()}, nil },
}

// Floor does the least that any timer must do per call, and calls tasks when told to.
type Floor struct {
	start time.Time
	keep  bool
	kept  []*floorTimeout
}

// floorTimeout is as large as a timeout of hashedwheel.
type floorTimeout struct {
	due  atomic.Int64
	task func()
	_    [4]int64
}

// Keep makes Schedule, from now on by one goroutine only, keep timeouts for Run.
func (f *Floor) Keep() { f.keep = true }

func (f *Floor) Schedule(delay time.Duration, task func()) Handle {
	t := &floorTimeout{task: task}
	t.due.Store(int64(time.Since(f.start) + delay))
	if f.keep {
		f.kept = append(f.kept, t)
	}
	return t
}

func (f *Floor) Cancel(h Handle) bool { return h.(*floorTimeout).due.Swap(-1) >= 0 }

func (f *Floor) Reset(h Handle, delay time.Duration, _ func()) Handle {
	h.(*floorTimeout).due.Store(int64(time.Since(f.start) + delay))
	return h
}

// Sort puts the kept timeouts in due order.
func (f *Floor) Sort() {
	slices.SortFunc(f.kept, func(a, b *floorTimeout) int { return cmp.Compare(a.due.Load(), b.due.Load()) })
}

// Run calls the tasks of the kept timeouts. It prefetches each timeout and then its task, as
// the engines do.
func (f *Floor) Run() {
	const ahead = 8
	for i, t := range f.kept {
		if i+2*ahead < len(f.kept) {
			cacheline.PrefetchPair(unsafe.Pointer(f.kept[i+2*ahead]))
			cacheline.PrefetchPair(*(*unsafe.Pointer)(unsafe.Pointer(&f.kept[i+ahead].task)))
		}
		t.task()
	}
}
