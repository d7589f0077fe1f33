package engine

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

// An operation gets slower with more processors if it writes cache lines that another
// processor wrote last. This test counts such lines: it compares the timer's shared memory
// before and after each operation. The processors are simulated. Each has its own spans, as
// from the allocator.

const (
	lineSize = 64
	spanSize = 1 << spanBits
	perSpan  = 5 // operations on each span
)

// lineCounter records the last writer of each line.
type lineCounter struct {
	memory  [][]byte // shared by all callers
	before  [][]byte
	writers map[*byte]int

	operations, writes, contended int
}

func newLineCounter(h *Handle) *lineCounter {
	l := &lineCounter{writers: map[*byte]int{}}
	share := func(p unsafe.Pointer, size uintptr) {
		l.memory = append(l.memory, unsafe.Slice((*byte)(p), size))
		l.before = append(l.before, make([]byte, size))
	}
	share(unsafe.Pointer(h), unsafe.Sizeof(*h))
	share(unsafe.Pointer(h.workers.env().limit), unsafe.Sizeof(*h.workers.env().limit))
	for i := range h.workers {
		c := h.workers[i].core
		share(unsafe.Pointer(c), unsafe.Sizeof(*c))
		share(unsafe.Pointer(&c.intake.stripes[0]), uintptr(len(c.intake.stripes))*unsafe.Sizeof(stripe{}))
	}
	return l
}

// begin is called before an operation.
func (l *lineCounter) begin() {
	for i, m := range l.memory {
		copy(l.before[i], m)
	}
}

// end is called after an operation of a processor. It does not count the first of about 170
// operations on a span, because the span may have a stripe that another processor used.
func (l *lineCounter) end(processor int, first bool) {
	counted := 1
	if first {
		counted = 0
	}
	l.operations += counted
	for i, m := range l.memory {
		if bytes.Equal(m, l.before[i]) {
			continue
		}
		for at := 0; at < len(m); at += lineSize {
			end := min(at+lineSize, len(m))
			if bytes.Equal(m[at:end], l.before[i][at:end]) {
				continue
			}
			line := &m[at]
			if last, ok := l.writers[line]; ok && last != processor {
				l.contended += counted
			}
			l.writers[line] = processor
			l.writes += counted
		}
	}
}

// owner is a processor with its spans.
type owner struct {
	timeouts []*Timeout // grouped by span, in the order of their addresses
}

// owners divides an arena's spans among n processors in turn. In an old heap, free spans
// are in random order.
func owners(n, spansEach int, old bool) []owner {
	const size = unsafe.Sizeof(Timeout{})
	arena := make([]Timeout, (n*spansEach+1)*spanSize/int(size))
	bySpan := map[uint64][]*Timeout{}
	var spans []uint64
	for i := range arena {
		span := spanOf(&arena[i])
		if len(bySpan[span]) == 0 {
			spans = append(spans, span)
		}
		bySpan[span] = append(bySpan[span], &arena[i])
	}
	if old {
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
	}
	all := make([]owner, n)
	for i, span := range spans[:n*spansEach] {
		in := bySpan[span]
		for k := range perSpan {
			all[i%n].timeouts = append(all[i%n].timeouts, in[k*len(in)/perSpan])
		}
	}
	return all
}

// If each processor had its own stripe, an operation would write two lines of that stripe.
// Spans of several processors share stripes, but that share must not grow with the number
// of processors.
func TestProducersSeldomShareCacheLines(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("the lines are laid out for 64-bit machines")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	processors := []int{2, 4, 8, 64}
	for _, n := range processors[:enginetest.Effort(4, 3, 3)] {
		for _, workers := range []int{1, 2} {
			for _, old := range []bool{false, true} {
				runtime.GOMAXPROCS(n)
				for name, each := range linesOf(t, n, workers, old) {
					t.Logf("%2d processors, %d workers, old heap %v: %s: %.2f lines written, %.2f of them last by another processor",
						n, workers, old, name, each.written, each.contended)
					assert.LessOrEqual(t, each.written, 2.0, name) // the queue's head, and the counts
					assert.LessOrEqual(t, each.contended, 0.7, name)
				}
			}
		}
	}
}

// lines is the number of lines that an operation writes.
type lines struct{ written, contended float64 }

// linesOf lets n processors take turns with each operation.
func linesOf(t *testing.T, n, workers int, old bool) map[string]lines {
	h := newWorkers(t, workers)
	for i := range h.workers { // as if the worker ran on time
		h.workers[i].core.worker.sleeper.Store(newSleeper(&h.workers[i].core.worker.errands, h.workers[i].core.worker.runRelief))
		h.workers[i].core.intake.phase.Store(ticking)
		h.workers[i].core.intake.alarm.assistFrom.Store(never)
	}
	all := owners(n, max(8, 128/n), old)
	order := rand.New(rand.NewPCG(3, 4))
	found := map[string]lines{}
	count := func(name string, operation func(t *Timeout)) {
		l, next, left := newLineCounter(h), make([]int, n), n*len(all[0].timeouts)
		for done := 0; done < left; {
			i := order.IntN(n)
			if next[i] == len(all[i].timeouts) {
				continue
			}
			timeout, first := all[i].timeouts[next[i]], next[i]%perSpan == 0
			next[i]++
			done++
			l.begin()
			operation(timeout)
			l.end(i, first)
		}
		found[name] = lines{float64(l.writes) / float64(l.operations), float64(l.contended) / float64(l.operations)}
	}
	schedule := func(timeout *Timeout) {
		deadline := h.workers.env().clock.Deadline(time.Hour)
		*timeout = Timeout{state: newState(deadline), task: hwt.TaskFunc(nil)}
		_, err := h.schedule(timeout, deadline)
		require.NoError(t, err)
	}
	count("schedule", schedule)
	for i := range h.workers {
		h.workers[i].core.drainAll()
	}
	count("reset to later", func(timeout *Timeout) { require.True(t, timeout.Reset(2*time.Hour)) })
	count("reset to earlier", func(timeout *Timeout) { require.True(t, timeout.Reset(time.Minute)) })
	for i := range h.workers {
		h.workers[i].core.drainAll()
	}
	count("cancel", func(timeout *Timeout) { require.True(t, timeout.Cancel()) })
	for i := range h.workers {
		h.workers[i].core.drainAll()
	}
	count("schedule and cancel", func(timeout *Timeout) {
		schedule(timeout)
		require.True(t, timeout.Cancel())
	})
	runtime.KeepAlive(all)
	h.Stop()
	return found
}
