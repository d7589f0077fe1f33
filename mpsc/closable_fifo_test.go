package mpsc_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
)

// The sequential model of the queue, and tests that the check detects faults.

type action string

const (
	pushing       action = "Push"
	popping       action = "Pop"
	closing       action = "Close"
	askingEmpty   action = "Empty"
	askingClosed  action = "Closed"
	nothing              = 0 // outcome of a Pop that returned nil
	linearTimeout        = 20 * time.Second
)

// call is the input of an operation. number belongs to the pushed item.
type call struct {
	action action
	number int
	place  int // position in the order of pops, from 1; 0 if unknown or not popped
}

// sequential is the model's state: the numbers of the items in the queue, oldest
// first, as runes, so that states compare with ==.
type sequential struct {
	items  string
	pushed int
	closed bool
}

var closableFIFO = porcupine.Model{
	Init: func() any { return sequential{} },
	Step: func(state, input, output any) (bool, any) {
		return state.(sequential).step(input.(call), output)
	},
	DescribeOperation: func(input, output any) string {
		c := input.(call)
		if c.action == pushing {
			return fmt.Sprintf("Push(%d) = %v", c.number, output)
		}
		return fmt.Sprintf("%s() = %v", c.action, output)
	},
	DescribeState: func(state any) string { return fmt.Sprintf("%+q", state) },
}

func (s sequential) step(c call, outcome any) (bool, sequential) {
	var want any
	next := s
	switch c.action {
	case pushing:
		want = !s.closed
		if !s.closed {
			next.items += string(rune(c.number))
			next.pushed++
			if c.place != 0 && c.place != next.pushed {
				return false, next
			}
		}
	case popping:
		want = nothing
		for i, r := range s.items {
			if i == 0 {
				want = int(r)
				next.items = s.items[len(string(r)):]
			}
		}
	case closing:
		want, next.closed = !s.closed, true
	case askingEmpty:
		want = s.items == ""
	case askingClosed:
		want = s.closed
	}
	return outcome == want, next
}

// check searches for an order of the history that agrees with the model. It first gives
// each push the place at which its item is popped, which in a first-in, first-out queue is
// the place of the push. This excludes only orders that would fail later, and saves
// porcupine exponentially many of them.
func check(history []porcupine.Operation) porcupine.CheckResult {
	history = slices.Clone(history)
	slices.SortStableFunc(history, byCall)
	places, pops := make(map[int]int), 0
	for _, o := range history {
		if o.Input.(call).action == popping && o.Output != nothing {
			pops++
			places[o.Output.(int)] = pops
		}
	}
	for i := range history {
		c := history[i].Input.(call)
		if c.action == pushing {
			c.place = places[c.number]
			history[i].Input = c
		}
	}
	return porcupine.CheckOperationsTimeout(closableFIFO, history, linearTimeout)
}

func byCall(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) }

// describe lists a history in the order of its calls.
func describe(history []porcupine.Operation) string {
	history = slices.Clone(history)
	slices.SortStableFunc(history, byCall)
	var s strings.Builder
	for _, o := range history {
		fmt.Fprintf(&s, "%8d to %8d  client %d  %s\n",
			o.Call, o.Return, o.ClientId, closableFIFO.DescribeOperation(o.Input, o.Output))
	}
	return s.String()
}

// at returns an operation of a handmade history: the call c at time from, which returned
// outcome at time to.
func at(from, to int64, c call, outcome any) porcupine.Operation {
	return porcupine.Operation{Call: from, Return: to, Input: c, Output: outcome}
}

func TestModelAcceptsOnlyGoodHistories(t *testing.T) {
	push := func(n int) call { return call{action: pushing, number: n} }
	pop, shut := call{action: popping}, call{action: closing}
	isEmpty, isClosed := call{action: askingEmpty}, call{action: askingClosed}
	type history = []porcupine.Operation

	for name, h := range map[string]history{
		"first in, first out":                       {at(1, 2, push(1), true), at(3, 4, push(2), true), at(5, 6, pop, 1), at(7, 8, pop, 2), at(9, 10, pop, nothing)},
		"two concurrent pushes, either first":       {at(1, 4, push(1), true), at(2, 3, push(2), true), at(5, 6, pop, 2), at(7, 8, pop, 1)},
		"a pop before a push returns":               {at(1, 4, push(1), true), at(2, 3, pop, 1)},
		"a pop misses a push under way":             {at(1, 4, push(1), true), at(2, 3, pop, nothing), at(5, 6, pop, 1)},
		"a push at the same time as close succeeds": {at(1, 3, shut, true), at(2, 4, push(1), true), at(5, 6, pop, 1)},
		"a push at the same time as close fails":    {at(1, 3, push(1), false), at(2, 4, shut, true), at(5, 6, isEmpty, true)},
		"drained after close":                       {at(1, 2, push(1), true), at(3, 4, shut, true), at(5, 6, isEmpty, false), at(7, 8, pop, 1), at(9, 10, isClosed, true)},
		"the later of two closes wins":              {at(1, 3, shut, false), at(2, 4, shut, true)},
	} {
		assert.Equal(t, porcupine.Ok, check(h), "good: %s", name)
	}
	for name, h := range map[string]history{
		"last in, first out":           {at(1, 2, push(1), true), at(3, 4, push(2), true), at(5, 6, pop, 2)},
		"an element lost":              {at(1, 2, push(1), true), at(3, 4, pop, nothing)},
		"an element twice":             {at(1, 2, push(1), true), at(3, 4, pop, 1), at(5, 6, pop, 1)},
		"an element never pushed":      {at(1, 2, pop, 1), at(3, 4, push(1), true)},
		"a push after close":           {at(1, 2, shut, true), at(3, 4, push(1), true)},
		"a push rejected before close": {at(1, 2, push(1), false), at(3, 4, shut, true)},
		"a rejected push drained":      {at(1, 3, push(1), false), at(2, 4, shut, true), at(5, 6, pop, 1)},
		"two closes that are true":     {at(1, 3, shut, true), at(2, 4, shut, true)},
		"no close that is true":        {at(1, 3, shut, false), at(2, 4, shut, false)},
		"empty with an element":        {at(1, 2, push(1), true), at(3, 4, isEmpty, true)},
		"not empty without one":        {at(1, 2, push(1), true), at(3, 4, pop, 1), at(5, 6, isEmpty, false)},
		"open after close":             {at(1, 2, shut, true), at(3, 4, isClosed, false)},
		"closed before close":          {at(1, 2, isClosed, true), at(3, 4, shut, true)},
	} {
		assert.Equal(t, porcupine.Illegal, check(h), "bad: %s", name)
	}
}

// broken is a queue with at most one fault, for one goroutine.
type broken struct {
	fault  string
	items  []*item
	closes int
}

func (b *broken) Push(i *item) bool {
	if b.closes > 0 && b.fault != "accepts when closed" {
		return false
	}
	if b.fault == "loses the third" && i.number == 3 {
		return true
	}
	b.items = append(b.items, i)
	return true
}

func (b *broken) Pop() *item {
	if len(b.items) == 0 {
		return nil
	}
	at := 0
	if b.fault == "last in, first out" {
		at = len(b.items) - 1
	}
	i := b.items[at]
	if b.fault != "hands out twice" {
		b.items = slices.Delete(b.items, at, at+1)
	}
	return i
}

func (b *broken) Close() bool {
	if b.fault == "forgets at close" {
		b.items = nil
	}
	b.closes++
	return b.closes == 1 || b.fault == "closes twice"
}

func (b *broken) Closed() bool { return b.closes > 0 && b.fault != "denies it is closed" }

func (b *broken) Empty() bool {
	return len(b.items) == 0 || b.fault == "empty when closed" && b.closes > 0
}

// The check must detect each fault. With one goroutine and a logical clock, the history is
// the same each time.
func TestCheckRejectsBrokenQueues(t *testing.T) {
	use := func(q fifo) porcupine.CheckResult {
		clock := int64(0)
		c := &client{queue: q, now: func() int64 { clock++; return clock }}
		c.push(1)
		c.push(2)
		c.push(3)
		c.pop()
		c.close()
		c.close()
		c.closed()
		c.push(4)
		c.empty()
		for range 4 {
			c.pop()
		}
		c.empty()
		return check(c.history)
	}
	assert.Equal(t, porcupine.Ok, use(&broken{fault: "none"}))
	assert.Equal(t, porcupine.Ok, use(newQueue()))
	for _, fault := range []string{
		"last in, first out", "hands out twice", "loses the third", "accepts when closed",
		"forgets at close", "closes twice", "denies it is closed", "empty when closed",
	} {
		assert.Equal(t, porcupine.Illegal, use(&broken{fault: fault}), fault)
	}
}
