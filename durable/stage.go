package durable

import "fmt"

// stage is the place of a held row, by W1. The place that has the row alone reads and changes it.
type stage uint8

const (
	accepted  stage = iota // taken into held
	ahead                  // waits for the time of its claim
	claimable              // waits for the next batch of claims
	backlog                // overdue; waits until there is room in the queue
	claiming               // in a batch of claims
	waiting                // claimed; on the wheel
	queued                 // due; waits for a handler
	firing                 // a handler runs, or is about to
	finished               // waits for the next batch of outcomes
	storing                // in a batch of outcomes
	dropped                // from every place
)

var stageNames = [...]string{"accepted", "ahead", "claimable", "backlog", "claiming", "waiting", "queued", "firing", "finished", "storing", "dropped"}

// follows has, for each stage, the stages that may follow it.
var follows = [...][]stage{
	accepted:  {ahead, claimable, backlog, waiting, finished, dropped},
	ahead:     {claimable, dropped},
	claimable: {claiming, dropped},
	backlog:   {claiming, dropped},
	claiming:  {claimable, waiting, finished, dropped}, // finished: the clock was set back far
	waiting:   {queued, finished},                      // finished: the queue is closed
	queued:    {firing, finished},
	firing:    {waiting, finished, dropped}, // waiting: it is early; dropped: the lease has ended
	finished:  {storing},
	storing:   {finished, dropped},
	dropped:   {},
}

// onIllegalMove is called for a move that breaks W1 or W4. Tests replace it by a panic.
var onIllegalMove = func(error) {}

// move changes the place of a row.
func (h *held) move(to stage) {
	for _, s := range follows[h.stage] {
		if s == to {
			h.stage = to
			return
		}
	}
	onIllegalMove(fmt.Errorf("durable: key %.64q: illegal move from %s to %s", h.row.Key, stageNames[h.stage], stageNames[to]))
	h.stage = to
}

// moveAll moves rows.
func moveAll(rows []*held, to stage) []*held {
	for _, h := range rows {
		h.move(to)
	}
	return rows
}
