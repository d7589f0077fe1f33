package soak

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
)

// The load of a rate round, by all callers. A tick brings twice the 100,000
// timeouts that a worker drains before it expires a bucket.
const (
	rateTick  = 400 * time.Millisecond
	rateBatch = 500 // timeouts every rateEvery
	rateEvery = time.Millisecond
	rateDelay = 300 * time.Millisecond
	rateCatch = 20 // the most batches that a caller makes up for
)

// rateWork is to schedule timeouts at a steady rate.
type rateWork struct {
	round *round
	share int          // the number of callers
	open  atomic.Int64 // accepted timeouts that have not ended
}

// batch is the task of all timeouts of one batch: they take no memory besides the
// timer's.
type batch struct {
	*rateWork
	dueAt int64 // when the first is due
}

// call implements work.
func (c *rateWork) call(ctx context.Context, number int) (operations int64) {
	pace := time.NewTicker(rateEvery)
	defer pace.Stop()
	for last := c.round.now(); ; {
		select {
		case <-ctx.Done():
			return operations
		case <-pace.C:
		}
		missed := (c.round.now() - last) / int64(rateEvery)
		last += missed * int64(rateEvery)
		for range min(missed, rateCatch) {
			operations += c.scheduleBatch(number)
		}
	}
}

// scheduleBatch schedules a caller's share of a batch. The shares add up to the batch.
func (c *rateWork) scheduleBatch(number int) (operations int64) {
	b := &batch{rateWork: c, dueAt: c.round.after(rateDelay)}
	for range rateBatch*(number+1)/c.share - rateBatch*number/c.share {
		c.open.Add(1)
		if _, err := c.round.timer.NewTimeout(b, rateDelay); err != nil {
			c.open.Add(-1)
			break
		}
		operations++
	}
	c.round.accepted.Add(operations)
	return operations
}

// unended implements work.
func (c *rateWork) unended() int { return int(c.open.Load()) }

// Run implements hwt.TimerTask.
func (b *batch) Run(hwt.Timeout) error {
	b.ended() // first: check waits until all tasks have begun
	b.round.taskBegins(b.dueAt)
	return nil
}

func (b *batch) due() int64 { return b.dueAt }

func (b *batch) ended() { b.open.Add(-1) }
