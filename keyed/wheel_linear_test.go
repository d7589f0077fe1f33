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

// opKind is an operation on the one key of a history. The expiry is one too.
type opKind int

const (
	opSet opKind = iota
	opMove
	opRemove
	opGet
	opDrain
	opFire
	opKinds
)

// opInput is what an operation asks for: far is a delay that never comes due
// within the test, and not far is none at all.
type opInput struct {
	kind  opKind
	value int
	far   bool
}

// opOutput is what it answered.
type opOutput struct {
	ok    bool
	value int
}

// keyState is what the key holds in the model.
type keyState struct {
	known bool
	value int
	far   bool
}

// linearModel says what each operation may answer. A pair that is far must not
// fire: so a move that reported success has decided its race with the expiry.
var linearModel = porcupine.Model{
	Init: func() any { return keyState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(keyState), input.(opInput), output.(opOutput)
		switch in.kind {
		case opSet:
			return true, keyState{true, in.value, in.far}
		case opMove:
			if s.known {
				s.far = in.far
			}
			return out.ok == state.(keyState).known, s
		case opRemove:
			return out.ok == s.known, keyState{}
		case opGet:
			return out.ok == s.known && (!s.known || out.value == s.value), s
		case opDrain:
			return out.ok == s.known && (!s.known || out.value == s.value), keyState{}
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
	sets  sync.Map // value to when its set was called
}

func (h *history) add(client int, in opInput, out opOutput, called int64) {
	returned := h.clock.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Call: called, Output: out, Return: returned})
}

// fire records the expiry: some time between the set and the callback.
func (h *history) fire(_, value int) {
	called, _ := h.sets.Load(value)
	h.add(-1, opInput{kind: opFire, value: value}, opOutput{}, called.(int64))
}

// do carries out one operation on the wheel and records it.
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
		err = w.SetTimer(1, in.value, delay)
	case opMove:
		out.ok, err = w.Move(1, delay)
	case opRemove:
		out.ok, err = w.Remove(1)
	case opGet:
		out.value, out.ok = w.Get(1)
	case opDrain:
		err = w.Drain(func(_, value int) { out = opOutput{true, value} })
	}
	require.NoError(tb, err)
	h.add(client, in, out, called)
}

// counting is an executor that runs tasks at once, and knows how many it has
// finished.
type counting struct{ finished atomic.Int64 }

func (c *counting) Execute(task func()) error {
	task()
	c.finished.Add(1)
	return nil
}

// linearTimer is a timer whose tasks are counted.
type linearTimer struct {
	timer interface {
		hwt.Timer
		Stats() hwt.Stats
	}
	tasks *counting
}

// rest waits until every task has run. A timeout is counted as expired before
// its task takes the pair, so that no task is missed once the pairs are gone.
func (l linearTimer) rest(tb require.TestingT) {
	require.Eventually(tb, func() bool { return l.tasks.finished.Load() == l.timer.Stats().Expired },
		time.Minute, time.Millisecond)
}

// checkLinear records a history of several clients on one key and has it judged.
func checkLinear(t *testing.T, timer linearTimer, clients, steps int, pause func()) {
	h := new(history)
	w, err := keyed.New(timer.timer, h.fire)
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
	require.Eventually(t, func() bool { // what is near fires; what is far is drained
		h.do(t, w, clients, opInput{kind: opDrain})
		return w.Len() == 0
	}, time.Minute, time.Millisecond)
	w.Stop()
	timer.rest(t) // callbacks that have begun
	h.mu.Lock()
	defer h.mu.Unlock()
	switch porcupine.CheckOperationsTimeout(linearModel, h.ops, 20*time.Second) {
	case porcupine.Illegal:
		t.Fatalf("not linearizable: %v", h.ops)
	case porcupine.Unknown:
		t.Log("a history was too long to judge")
	}
}

// The clock is the real one, because races are what this is about.
func TestOperationsOnAKeyAreLinearizable(t *testing.T) {
	onWheel, onRuntime := new(counting), new(counting)
	hashed, err := hashedwheel.New(hashedwheel.WithExecutor(onWheel),
		hashedwheel.WithTickDuration(time.Millisecond), hashedwheel.WithTicksPerWheel(8), hashedwheel.WithSlowTaskThreshold(0))
	require.NoError(t, err)
	defer hashed.Stop()
	runtime, err := runtimetimer.New(runtimetimer.WithExecutor(onRuntime))
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
