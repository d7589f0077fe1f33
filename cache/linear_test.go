package cache_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cache"
)

// opKind is an operation on the only key of a history.
type opKind int

const (
	opSet opKind = iota
	opSetIfAbsent
	opGet
	opTouch
	opDelete
	opDeleteFunc
	opKinds
)

type opInput struct {
	kind  opKind
	value int
}

type opOutput struct {
	ok    bool
	value int
}

// linearModel decides which results an operation may have. Its state is the value, or 0.
// No entry expires.
var linearModel = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(int), input.(opInput), output.(opOutput)
		switch in.kind {
		case opSet:
			return true, in.value
		case opSetIfAbsent:
			if s == 0 {
				return out.ok, in.value
			}
			return !out.ok, s
		case opGet:
			return out.ok == (s != 0) && out.value == s, s
		case opTouch:
			return out.ok == (s != 0), s
		case opDeleteFunc:
			if !out.ok { // the entry was unknown, or replaced meanwhile
				return true, s
			}
			return out.value == s && s != 0, 0
		default: // opDelete
			return out.ok == (s != 0) && out.value == s, 0
		}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// TestOperationsOnAKeyAreLinearizable runs on the real clock, to provoke races. GetOrFetch
// is not checked, because an overtaken fetch returns a value that the cache never held.
func TestOperationsOnAKeyAreLinearizable(t *testing.T) {
	for _, o := range []options{{}, {Limit: 1}, {Sliding: time.Hour}, {ExactExpiry: true}} {
		for range 100 {
			c := newCache(t, o)
			var clock atomic.Int64
			var mu sync.Mutex
			var history []porcupine.Operation
			var all sync.WaitGroup
			const clients, steps = 4, 12
			for client := range clients {
				all.Go(func() {
					for step := range steps {
						in := opInput{opKind(rand.N(int(opKinds))), client*steps + step + 1}
						called := clock.Add(1)
						out := do(t, c, in)
						returned := clock.Add(1)
						mu.Lock()
						history = append(history, porcupine.Operation{
							ClientId: client, Input: in, Output: out, Call: called, Return: returned,
						})
						mu.Unlock()
					}
				})
			}
			all.Wait()
			c.Close()
			result := porcupine.CheckOperationsTimeout(linearModel, history, 20*time.Second)
			require.NotEqual(t, porcupine.Illegal, result, "not linearizable with %+v: %v", o, history)
		}
	}
}

func do(t require.TestingT, c *cache.Cache[string, int], in opInput) (out opOutput) {
	var err error
	switch in.kind {
	case opSet:
		err = c.Set("k", in.value)
	case opSetIfAbsent:
		out.ok, err = c.SetIfAbsent("k", in.value)
	case opGet:
		out.value, out.ok = c.Get("k")
	case opTouch:
		out.ok = c.Touch("k")
	case opDelete:
		out.value, out.ok = c.GetAndDelete("k")
	case opDeleteFunc:
		n := c.DeleteFunc(func(_ string, value int) bool {
			out.value = value
			runtime.Gosched()
			return true
		})
		out.ok = n == 1
	}
	require.NoError(t, err)
	return out
}
