package engine

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/internal/enginekit"
)

// Several goroutines change one word as callers and the worker do, and record the results.
// porcupine searches for an order in which a plain struct returns the same results.

// spec is a state as a plain struct.
type spec struct {
	deadline int64
	inQueue  bool
	end      string // "", "cancelled" or "expired"
}

// word returns the spec of w.
func word(w enginekit.Word) spec {
	s := spec{deadline: w.Deadline(), inQueue: w&queued != 0}
	switch {
	case w.IsCancelled():
		s.end = "cancelled"
	case w.IsExpired():
		s.end = "expired"
	}
	return s
}

type stateCall struct {
	op string
	at int64 // the deadline, or the time
}

// result has the results of a call, including its word if it returns one.
type result struct {
	word spec
	ok   bool
}

var lifeModel = porcupine.Model{
	Init: func() any { return spec{deadline: 50, inQueue: true} },
	Step: func(state, input, output any) (bool, any) {
		next, want := state.(spec).after(input.(stateCall))
		return want == output.(result), next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v = %+v", input, output) },
}

func (s spec) after(c stateCall) (next spec, want result) {
	next = s
	if c.op == "dequeue" {
		next.inQueue = false
		return next, result{word: next}
	}
	if s.end != "" {
		return s, result{word: s}
	}
	switch c.op {
	case "cancel":
		next.end = "cancelled"
		return next, result{word: s, ok: true}
	case "expire":
		if s.deadline > c.at {
			return s, result{word: s}
		}
		next.end = "expired"
		return next, result{word: s, ok: true}
	default: // rearm
		return spec{deadline: c.at, inQueue: s.inQueue || c.at < s.deadline}, result{word: s, ok: true}
	}
}

func (c stateCall) on(l *state) result {
	switch c.op {
	case "cancel":
		w, ok := l.cancel()
		return result{word: word(w), ok: ok}
	case "expire":
		w, ok := l.expire(c.at)
		return result{word: word(w), ok: ok}
	case "rearm":
		w, ok := l.rearm(c.at)
		return result{word: word(w), ok: ok}
	default:
		return result{word: word(l.dequeue())}
	}
}

func anyCall() stateCall {
	ops := []string{"cancel", "expire", "expire", "rearm", "rearm", "rearm", "rearm", "dequeue", "dequeue"}
	return stateCall{ops[rand.N(len(ops))], rand.Int64N(100)}
}

func TestStateIsLinearizable(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	rounds := 30_000
	if testing.Short() {
		rounds = 10_000
	}
	// On a loaded machine, the goroutines meet slowly.
	begin := time.Now()
	for i := 0; i < rounds && time.Since(begin) < 3*time.Second; i++ {
		if history := race(2+i%2, 3); !linearizable(history) {
			require.Fail(t, "not linearizable", "%v", history)
		}
	}
}

func linearizable(history []porcupine.Operation) bool {
	return porcupine.CheckOperationsTimeout(lifeModel, history, 20*time.Second) == porcupine.Ok
}

// race lets goroutines make simultaneous calls on one state.
func race(goroutines, calls int) []porcupine.Operation {
	l := newState(50)
	var clock atomic.Int64
	histories := make([][]porcupine.Operation, goroutines)
	var arrived atomic.Int64
	together := func(step int) {
		arrived.Add(1)
		for spins := 1; arrived.Load() < int64((step+1)*goroutines); spins++ {
			if spins%100 == 0 {
				runtime.Gosched()
			}
		}
	}
	var done sync.WaitGroup
	for g := range goroutines {
		done.Go(func() {
			for step := range calls {
				c := anyCall()
				together(step)
				from := clock.Add(1)
				out := c.on(&l)
				histories[g] = append(histories[g], porcupine.Operation{
					ClientId: g, Input: c, Call: from, Output: out, Return: clock.Add(1)})
			}
		})
	}
	done.Wait()
	return slices.Concat(histories...)
}
