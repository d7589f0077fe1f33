package timertest

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
)

var linearChecks = []check{
	// Real: goroutines on several cores, at random moments.
	{"CancelResetAndExpiryAreLinearizable", realClock, linearizable},
}

// lifeOp is what may happen to a timeout.
type lifeOp int

const (
	opCancel lifeOp = iota
	opReset
	opIsExpired
	opIsCancelled
	opExpire // by the engine, some time before the task's first step
)

// lifeState is what a timeout is, one after another.
type lifeState int

const (
	alive lifeState = iota
	dead            // cancelled
	over            // expired
)

// lifeModel is the contract of a timeout's life, as if nothing ran at once.
var lifeModel = porcupine.Model{
	Init: func() any { return alive },
	Step: func(state, input, output any) (bool, any) {
		s, said := state.(lifeState), output.(bool)
		switch input.(lifeOp) {
		case opCancel:
			if s == alive {
				return said, dead
			}
			return !said, s
		case opReset:
			return said == (s == alive), s
		case opIsExpired:
			return said == (s == over), s
		case opIsCancelled:
			return said == (s == dead), s
		default:
			return s == alive, over
		}
	},
}

func linearizable(tb testing.TB, newTimer Factory) {
	onProcs(func(procs int) {
		e := newTimer.start(tb, Config{Tick: time.Millisecond})
		for range 40 {
			history := liveThrough(tb, e)
			result := porcupine.CheckOperationsTimeout(lifeModel, history, 5*time.Second)
			if !assert.NotEqual(tb, porcupine.Illegal, result, "no order explains %v", history) {
				return
			}
		}
		e.Stop()
	})
}

// liveThrough records what several goroutines do to one timeout until it ends,
// and a bit longer.
func liveThrough(tb testing.TB, e hwt.Engine) []porcupine.Operation {
	tb.Helper()
	var mu sync.Mutex
	var history []porcupine.Operation
	begin := time.Now()
	record := func(client int, op lifeOp, f func() bool) {
		call := time.Since(begin)
		said := f()
		entry := porcupine.Operation{ClientId: client, Input: op, Call: int64(call), Output: said, Return: int64(time.Since(begin))}
		mu.Lock()
		defer mu.Unlock()
		history = append(history, entry)
	}
	const clients = 3
	ran := new(probe)
	timeout := schedule(tb, e, task(func(hwt.Timeout) {
		now := int64(time.Since(begin))
		mu.Lock()
		history = append(history, porcupine.Operation{ClientId: clients, Input: opExpire, Call: 0, Output: true, Return: now})
		mu.Unlock()
		ran.ran.set()
	}), upTo(2*time.Millisecond))

	together(clients, func(client int) {
		for range 8 {
			time.Sleep(upTo(500 * time.Microsecond))
			switch op := lifeOp(rand.N(8)); op {
			case opCancel:
				record(client, op, timeout.Cancel)
			case opReset:
				record(client, op, func() bool { return timeout.Reset(upTo(time.Millisecond)) })
			case opIsCancelled:
				record(client, op, timeout.IsCancelled)
			default:
				record(client, opIsExpired, timeout.IsExpired)
			}
		}
	})
	eventually(tb, "the timeout has ended", func() bool { return timeout.IsCancelled() || ran.ran.count() == 1 })
	mu.Lock()
	defer mu.Unlock()
	return history
}
