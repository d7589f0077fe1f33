package hwttest_test

import (
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
)

// A fuzzed input encodes a program. The first byte selects two or three actors. Each
// further three bytes are a step, or the wait until the next round.

// parse decodes a program.
func parse(input []byte) (all program, actors int) {
	actors = 2 + int(input[0]%2)
	now := round{actors: make([][]step, actors)}
	for in := input[1:]; len(in) >= 3; in = in[3:] {
		kind, a, b := in[0], in[1], in[2]
		if kind%8 == 7 {
			now.wait = waitOf(a, b)
			all = append(all, now)
			now = round{actors: make([][]step, actors)}
			continue
		}
		actor := int(kind>>3) % actors
		now.actors[actor] = append(now.actors[actor], stepOf(kind, a, b))
	}
	return append(all, now), actors
}

// stepOf decodes a step.
func stepOf(kind, a, b byte) step {
	s := step{which: int(a >> 3), delay: delayOf(a, b)}
	switch kind % 8 {
	case 0:
	case 1:
		switch b % 16 {
		case 13, 14:
			s.op = batch
		case 15:
			s.op, s.then = list, &step{op: action(a % 3), which: int(b >> 4), delay: delayOf(b>>2, b>>5)}
		}
	case 2: // the task does a step, too
		s.then = &step{op: action(b % 4), which: int(b >> 4), delay: delayOf(b>>2, b>>5)}
	case 3:
		s.op = cancel
	case 4, 5:
		s.op = reset
	case 6:
		switch s.op = cancel; b { // rare, because it ends the program
		case 0xf0, 0xf1, 0xf2, 0xff:
			s.op = stop
		case 0xf3, 0xf4, 0xf5:
			s.op = shutdown
		}
	}
	return s
}

// delayOf decodes a delay, mostly of whole ticks, so that timeouts expire as rounds begin.
func delayOf(kind, n byte) time.Duration {
	switch kind % 8 {
	case 0:
		return -time.Duration(n)
	case 1:
		return time.Duration(n) * programTick / 7
	case 2:
		return time.Duration(n)*programTick*97 + 1
	case 3:
		return math.MaxInt64 - time.Duration(n)
	case 4:
		return time.Duration(n%8)*programTick + 1
	default:
		return time.Duration(n%8) * programTick
	}
}

// waitOf decodes a wait, mostly of a few ticks.
func waitOf(kind, n byte) time.Duration {
	switch kind % 8 {
	case 0:
		return time.Duration(n) * programTick / 7
	case 1:
		return time.Duration(n)*programTick*97 + 1
	case 2:
		return time.Duration(n)
	default:
		return time.Duration(n%4) * programTick
	}
}

func FuzzConcurrentProgram(f *testing.F) {
	for _, input := range programs {
		f.Add([]byte(input))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) == 0 || len(input) > 400 {
			return
		}
		all, actors := parse(input)
		for name, on := range performers {
			require.Empty(t, perform(t, on, all, actors), name)
		}
	})
}

// spoilt is an engine with one fault.
type spoilt struct {
	hwt.Engine
	delay func(time.Duration) time.Duration
	stop  func([]hwt.Timeout) []hwt.Timeout
	all   func(n int) int // number of times All yields the n-th timeout
}

func (s spoilt) NewTimeouts(tasks []hwt.TimerTask, delay time.Duration) ([]hwt.Timeout, error) {
	return s.Engine.NewTimeouts(tasks, s.delay(delay))
}

func (s spoilt) All() iter.Seq[hwt.Timeout] {
	return func(yield func(hwt.Timeout) bool) {
		n := 0
		for timeout := range s.Engine.All() {
			n++
			for range s.all(n) {
				if !yield(timeout) {
					return
				}
			}
		}
	}
}

func (s spoilt) NewTimeout(task hwt.TimerTask, delay time.Duration) (hwt.Timeout, error) {
	return s.Engine.NewTimeout(task, s.delay(delay))
}

func (s spoilt) Stop() []hwt.Timeout { return s.stop(s.Engine.Stop()) }

func TestConcurrentProgramsDetectFaults(t *testing.T) {
	keepDelay := func(d time.Duration) time.Duration { return d }
	keepAll := func(all []hwt.Timeout) []hwt.Timeout { return all }
	once := func(int) int { return 1 }
	for want, bad := range map[string]spoilt{
		"missed it":     {delay: keepDelay, stop: keepAll, all: func(n int) int { return n % 2 }},
		"yielded it 2":  {delay: keepDelay, stop: keepAll, all: func(int) int { return 2 }},
		"early or late": {delay: func(d time.Duration) time.Duration { return d / 2 }, stop: keepAll},
		"overdue":       {delay: func(d time.Duration) time.Duration { return d + min(time.Hour, beyond-d) }, stop: keepAll},
		"ended 0 times": {delay: keepDelay, stop: func(all []hwt.Timeout) []hwt.Timeout { return all[:len(all)/2] }},
		"ended 2 times": {delay: keepDelay, stop: func(all []hwt.Timeout) []hwt.Timeout { return append(all, all...) }},
	} {
		var wrong []string
		for _, input := range programs {
			all, actors := parse([]byte(input))
			wrong = append(wrong, perform(t, performer{programTick, func(t *testing.T) hwt.Engine {
				bad.Engine = hashed(t, 8, 1)
				if bad.all == nil {
					bad.all = once
				}
				return bad
			}}, all, actors)...)
		}
		require.Contains(t, strings.Join(wrong, "\n"), want)
	}
}

// Encoded steps.
const (
	dueIn1, dueIn2, dueIn3  = "\x00\x05\x01", "\x00\x05\x02", "\x00\x05\x03" // actor 0 schedules, in that many ticks
	other1, other2          = "\x08\x0d\x01", "\x08\x0d\x02"                 // actor 1 schedules
	atOnce, farOff, never   = "\x00\x00\x00", "\x00\x02\x30", "\x08\x03\x00"
	thenAgain, thenCancel   = "\x02\x05\x00", "\x02\x05\x01"
	thenReset, thenStop     = "\x0a\x05\x02", "\x0a\x05\x03"
	dueIn6, thenResetMiddle = "\x00\x05\x06", "\x02\x05\x76" // resets the middle one of three as they expire
	thenStopIn3             = "\x02\x05\x03"
	cancelIt, cancelOther   = "\x03\x00\x00", "\x0b\x00\x00" // actors 0 and 1 cancel the last timeout
	cancelBefore            = "\x13\x08\x00"                 // cancels the one before it
	sooner, later, laterToo = "\x04\x05\x01", "\x0d\x05\x04", "\x14\x05\x05"
	resetToNow, resetBefore = "\x0c\x00\x00", "\x0c\x0d\x02"
	stopIt, stopOther       = "\x06\x00\xff", "\x0e\x00\xff"
	many, manyOther         = "\x01\x05\x0d", "\x09\x0c\x0e" // batches
	look, lookOther         = "\x01\x2d\x2f", "\x09\x85\x3f" // with a sleep after some timeouts
	shutIt                  = "\x06\x00\xf4"
	tick1, tick2, tick3     = "\x07\x03\x01", "\x07\x03\x02", "\x07\x03\x03"
	aBit, aLot, sameInstant = "\x07\x00\x03", "\x07\x01\x10", "\x07\x03\x00"
)

// programs are the seeds of the fuzz test.
var programs = []string{
	"\x00" + dueIn1 + tick1 + cancelIt + cancelOther,                                     // both cancel as it expires
	"\x00" + dueIn2 + tick2 + cancelIt + later + tick1 + sooner + tick1,                  // cancel and reset as it expires
	"\x00" + dueIn3 + other2 + tick1 + sooner + later + tick1 + resetToNow + tick1,       // reset to sooner and to later
	"\x01" + dueIn1 + other1 + tick1 + stopIt + cancelOther + laterToo,                   // Stop as timeouts expire
	"\x01" + dueIn1 + other1 + farOff + never + aBit + stopIt + stopOther + other1,       // two Stops race with NewTimeout
	"\x01" + thenAgain + thenCancel + thenReset + dueIn1 + other1 + tick1 + later,        // tasks that schedule, cancel, and reset
	"\x00" + dueIn1 + thenStop + other2 + tick1 + stopIt + dueIn1 + tick1 + cancelOther,  // Stop from a task and from outside
	"\x00" + atOnce + cancelOther + aBit + atOnce + resetToNow + sameInstant + cancelIt,  // timeouts that are due already
	"\x01" + farOff + never + dueIn3 + cancelBefore + aLot + resetBefore + tick2 + later, // hundreds of rotations
	"\x01" + dueIn1 + dueIn1 + other1 + other1 + tick1 + cancelIt + cancelOther + cancelBefore + resetBefore + tick1 + stopOther,
	"\x00" + thenResetMiddle + dueIn6 + dueIn6 + tick3 + tick3 + tick3, // a task resets a timeout of its tick
	"\x00" + many + manyOther + look + lookOther + later + tick1 + look + sooner + cancelOther + tick2 + look,
	"\x01" + many + farOff + many + tick1 + look + lookOther + many + resetBefore + tick1 + look + shutIt + manyOther + lookOther,
	"\x00" + thenStopIn3 + dueIn3 + dueIn3 + other1 + tick3 + cancelOther, // a task stops the engine in the middle of a tick
}
