package keyed_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/keyed"
	"github.com/hashedwheel/hwt/runtimetimer"
)

// opKind is an operation on the only key of a history. Expiry is one of them.
type opKind int

const (
	opSet opKind = iota
	opSetIfAbsent
	opSetIfSooner
	opUpdate
	opMove
	opDelete
	opGetAndDelete
	opGet
	opDue
	opAll
	opDrain
	opFire
	opKinds
)

// opInput is the input of an operation. The delay is 0, or beyond the end of the test if
// far is set.
type opInput struct {
	kind  opKind
	value int
	far   bool
}

// opOutput is the result of an operation.
type opOutput struct {
	ok    bool
	value int
	far   bool // only if the operation returns a due time
}

// entryOutput is the output of an operation that returned e.
func entryOutput(e keyed.Entry[int, int]) opOutput {
	return opOutput{true, e.Value, e.Left() > time.Hour/2}
}

// keyState is the state of the key in the model.
type keyState struct {
	known bool
	value int
	far   bool
}

// output is the output of operations that return an entry.
func (s keyState) output() opOutput {
	if !s.known {
		return opOutput{}
	}
	return opOutput{true, s.value, s.far}
}

// linearModel decides which results an operation may have. A far pair must not fire, so a
// successful Move has won its race with expiry.
var linearModel = porcupine.Model{
	Init: func() any { return keyState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(keyState), input.(opInput), output.(opOutput)
		switch in.kind {
		case opSet:
			return true, keyState{true, in.value, in.far}
		case opSetIfAbsent:
			if s.known {
				return !out.ok, s
			}
			return out.ok, keyState{true, in.value, in.far}
		case opSetIfSooner:
			if s.known && (in.far || !s.far) {
				return !out.ok, s
			}
			return out.ok, keyState{true, in.value, in.far}
		case opUpdate:
			if !s.known {
				return !out.ok, s
			}
			return out.ok && out.value == s.value, keyState{true, in.value, s.far}
		case opMove:
			if s.known {
				s.far = in.far
			}
			return out.ok == state.(keyState).known, s
		case opDelete:
			return out.ok == s.known, keyState{}
		case opGetAndDelete:
			return out.ok == s.known && (!s.known || out.value == s.value), keyState{}
		case opGet:
			return out.ok == s.known && (!s.known || out.value == s.value), s
		case opDue:
			return out.ok == s.known && (!s.known || out.far == s.far), s
		case opAll:
			return out == s.output(), s
		case opDrain:
			return out == s.output(), keyState{}
		default: // opFire
			return s.known && !s.far && s.value == in.value, keyState{}
		}
	},
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%+v -> %+v", input, output)
	},
}

// history records operations by a logical clock.
type history struct {
	clock atomic.Int64
	mu    sync.Mutex
	ops   []porcupine.Operation
	sets  sync.Map // call time of each value's Set
}

func (h *history) add(client int, in opInput, out opOutput, called int64) {
	returned := h.clock.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Call: called, Output: out, Return: returned})
}

// fire records an expiry, between the Set and the callback.
func (h *history) fire(_, value int) {
	called, _ := h.sets.Load(value)
	h.add(-1, opInput{kind: opFire, value: value}, opOutput{}, called.(int64))
}

// do performs one operation on the wheel and records it.
func (h *history) do(tb require.TestingT, w *keyed.Wheel[int, int], client int, in opInput) {
	delay := time.Duration(0)
	if in.far {
		delay = time.Hour
	}
	called := h.clock.Add(1)
	var out opOutput
	var err error
	switch in.kind {
	case opSet:
		h.sets.Store(in.value, called)
		err = w.Set(1, in.value, delay)
	case opSetIfAbsent:
		h.sets.Store(in.value, called)
		out.ok, err = w.SetIfAbsent(1, in.value, delay)
	case opSetIfSooner:
		h.sets.Store(in.value, called)
		out.ok, err = w.SetIfSooner(1, in.value, delay)
	case opUpdate:
		h.sets.Store(in.value, called)
		out.ok = w.Update(1, func(old int) int {
			out.value = old
			return in.value
		})
	case opGetAndDelete:
		out.value, out.ok = w.GetAndDelete(1)
	case opMove:
		out.ok, err = w.Move(1, delay)
	case opDelete:
		out.ok = w.Delete(1)
	case opGet:
		out.value, out.ok = w.Get(1)
	case opDue:
		due, ok := w.Due(1)
		out = opOutput{ok: ok, far: ok && time.Until(due) > time.Hour/2}
	case opAll:
		for e := range w.All() {
			out = entryOutput(e)
		}
	case opDrain:
		err = w.Drain(func(e keyed.Entry[int, int]) { out = entryOutput(e) })
	}
	require.NoError(tb, err)
	h.add(client, in, out, called)
}

// counting is an executor that runs tasks immediately and counts the finished ones.
type counting struct{ finished atomic.Int64 }

func (c *counting) Execute(task func()) error {
	task()
	c.finished.Add(1)
	return nil
}

// linearTimer is a timer whose tasks are counted.
type linearTimer struct {
	timer hwt.Engine
	tasks *counting
}

// rest waits until all tasks have finished. A timeout is counted as expired before its task
// deletes the pair, so when the pairs are gone, the count includes every task.
func (l linearTimer) rest(tb require.TestingT) {
	require.Eventually(tb, func() bool { return l.tasks.finished.Load() == l.timer.Stats().Expired },
		time.Minute, time.Millisecond)
}

// checkLinear records a history of several clients on one key and checks it.
func checkLinear(t *testing.T, timer linearTimer, clients, steps int, pause func()) {
	h := new(history)
	w, err := keyed.New(timer.timer, h.fire, nil)
	require.NoError(t, err)
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for step := range steps {
				h.do(t, w, client, opInput{
					kind:  opKind(rand.N(int(opFire))),
					value: client*steps + step + 1,
					far:   rand.N(2) == 0,
				})
				pause()
			}
		})
	}
	all.Wait()
	require.Eventually(t, func() bool { // a near pair fires, a far one is drained
		h.do(t, w, clients, opInput{kind: opDrain})
		return w.Len() == 0
	}, time.Minute, time.Millisecond)
	w.Close()
	timer.rest(t) // waits for callbacks that have begun
	h.mu.Lock()
	defer h.mu.Unlock()
	switch porcupine.CheckOperationsTimeout(linearModel, h.ops, 20*time.Second) {
	case porcupine.Illegal:
		t.Fatalf("not linearizable: %v", h.ops)
	case porcupine.Unknown:
		t.Log("a history is too long to check")
	}
}

// The test runs on the real clock, to provoke races.
func TestOperationsOnAKeyAreLinearizable(t *testing.T) {
	onWheel, onRuntime := new(counting), new(counting)
	hashed, err := hashedwheel.New(&hashedwheel.Options{
		Executor:          onWheel,
		TickDuration:      time.Millisecond,
		TicksPerWheel:     8,
		SlowTaskThreshold: -1,
	})
	require.NoError(t, err)
	defer hashed.Stop()
	runtime, err := runtimetimer.New(&runtimetimer.Options{Executor: onRuntime})
	require.NoError(t, err)
	defer runtime.Stop()
	for name, timer := range map[string]linearTimer{"hashed": {hashed, onWheel}, "runtime": {runtime, onRuntime}} {
		t.Run("engine="+name, func(t *testing.T) {
			for range 60 {
				checkLinear(t, timer, 4, 10, func() { time.Sleep(rand.N(400 * time.Microsecond)) })
				checkLinear(t, timer, 3, 15, func() {})
			}
		})
	}
}
