package durable

import "slices"

// stage is the place of a held row, by W1. The place that has the row alone reads and changes it.
type stage uint8

const (
	accepted  stage = iota // taken into the table
	ahead                  // waits for the time of its claim
	claimable              // waits for the next batch of claims
	backlog                // overdue; waits until there is room in the queue
	suspected              // a claim of it ended without an outcome; waits for the end of the suspect before it
	claiming               // in a batch of claims
	waiting                // claimed; on the wheel
	queued                 // due; waits for a handler
	firing                 // a handler runs, or is about to
	finished               // waits for the next batch of outcomes
	storing                // in a batch of outcomes
	dropped                // from every place
)

var stageNames = [...]string{"accepted", "ahead", "claimable", "backlog", "suspected", "claiming", "waiting", "queued", "firing", "finished", "storing", "dropped"}

// follows has, for each stage, the stages that may follow it.
var follows = [...][]stage{
	accepted:  {ahead, claimable, backlog, suspected, waiting, finished, dropped},
	ahead:     {claimable, suspected, dropped},
	claimable: {claiming, dropped},
	backlog:   {claiming, dropped},
	suspected: {claiming, dropped},
	claiming:  {ahead, claimable, suspected, waiting, finished, dropped}, // finished: the clock was set back far
	waiting:   {queued, finished},                                        // finished: the queue is closed
	queued:    {firing, finished},
	firing:    {waiting, finished, dropped}, // waiting: it is early; dropped: the lease has ended
	finished:  {storing},
	storing:   {finished, dropped},
	dropped:   {},
}

// mayBecome reports whether a row may go from stage s to another stage.
func (s stage) mayBecome(to stage) bool { return slices.Contains(follows[s], to) }

// String returns the name of s.
func (s stage) String() string { return stageNames[s] }
