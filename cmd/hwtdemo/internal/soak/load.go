package soak

import (
	"context"
	"time"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/engines"
)

// Load names a way to use timers.
type Load string

// The loads. The package comment describes them.
const (
	Random Load = "random"
	Rate   Load = "rate"
	Resets Load = "resets"
)

// Loads are all loads, in the order in which they have their turns.
var Loads = []Load{Random, Rate, Resets}

// work is the load of one round.
type work interface {
	// call uses the timer until soon after ctx ends, as the caller of that number,
	// and returns the number of its operations.
	call(ctx context.Context, number int) (operations int64)

	// unended returns the number of timeouts that have not ended. It is called once the
	// timer is stopped and no task runs.
	unended() int
}

// plan describes a round.
type plan struct {
	load    Load
	tick    time.Duration
	workers int
	length  time.Duration // of the round
	maxLate time.Duration // the greatest lateness while the machine has time to spare; 0 means any
}

// turns is the number of rounds after which the loads begin again.
const turns = 12

// tickOf is the tick of the random rounds, by turn. A round has at least four.
var tickOf = [turns]time.Duration{3: 300 * time.Millisecond, 4: 100 * time.Millisecond, 7: 10 * time.Millisecond}

// workersOf are the numbers of workers. Over the turns, each meets each load.
var workersOf = []int{1, 2, 7}

// plan returns the plan for a round of e. Every load has its turn early; most
// rounds are random and short. Engines without a worker have random rounds only: Go
// keeps the memory of the greatest number of goroutines and timers.
func (c Config) plan(e engines.Engine, number int) plan {
	turn, load := number%turns, c.Load
	if load == "" {
		load = Random
		if turn < len(Loads) {
			load = Loads[turn]
		}
	}
	workers := workersOf[(number+number/turns)%len(workersOf)]
	switch {
	case e.Wheel == 0:
	case load == Rate:
		return plan{load: load, tick: rateTick, workers: workers, length: 8 * rateTick, maxLate: 2 * rateTick}
	case load == Resets:
		return plan{load: load, tick: time.Millisecond, workers: workers, length: 2500 * time.Millisecond, maxLate: time.Second}
	}
	tick := max(tickOf[turn], time.Millisecond)
	return plan{load: Random, tick: tick, workers: workers, length: max(c.Round, 4*tick)}
}
