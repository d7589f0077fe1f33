package durable

import (
	"math"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// quota is the part of a worker in a limit. The mu of the limiter guards it.
type quota struct {
	limit       backend.Limit
	capacity    int // handlers of the Work that may run in the scope
	held, share int // permits of the worker, and those of them under which handlers may begin
	tokens      []backend.Tokens
	unused      bool // the token before the next one, of the same Tokens, was not used
	running     int  // rows with a permit
	claimed     int  // rows that are claimed, or about to be, and have not ended
	peak        int  // of claimed and pending rows since the last call of Share
	begun       int  // rows that got a permit since then
	asked       backend.Demand
	short       bool  // the last call of Share granted less than the demand
	unsaid      bool  // the database may know permits or a wish that the worker has no longer
	due         turns // claimed rows that wait for a permit or a token
	pending     turns // rows that wait for their claim

	// Rows that got a permit in the current and the last recentFor, which began at since.
	since             int64
	current, previous int
}

// recentFor is the length of the periods in which a quota counts rows that got a permit: a worker
// claims as many rows ahead (room).
const recentFor = int64(100 * time.Millisecond)

// may reports whether a row may get a permit and a token at the same time.
func (q *quota) may(now int64) bool {
	return q.permits() > q.running && (q.limit.PerSecond == 0 || q.nextToken(now) <= now)
}

// permits returns the number of handlers that the worker may run.
func (q *quota) permits() int { return min(q.held, q.share) }

// nextToken returns the time from which the next token may be used, or MaxInt64. Tokens that were not used in time are
// lost, and so are tokens of a time to which the clock was set back.
func (q *quota) nextToken(now int64) int64 {
	for len(q.tokens) > 0 {
		t := &q.tokens[0]
		start, late := t.Start(0), t.At(0)+int64(q.limit.Window()) < now
		if t.N > 0 && !late && start <= now+int64(backend.MostAhead) {
			if q.unused {
				start = min(start, now)
			}
			return start
		}
		more := t.N > 1
		q.drop()
		q.unused = late && more
	}
	return math.MaxInt64
}

// drop takes a token.
func (q *quota) drop() {
	t := &q.tokens[0]
	t.From += t.Every
	if t.N--; t.N <= 0 {
		q.tokens = q.tokens[1:]
	}
	q.unused = false
}

// take takes a permit and a token, and returns the time until which the token may be used.
func (q *quota) take(now int64) (until int64) {
	q.running++
	q.begun++
	q.rotate(now)
	q.current++
	if q.limit.PerSecond == 0 {
		return math.MaxInt64
	}
	q.nextToken(now) // drops old ones
	until = q.tokens[0].At(0) + int64(q.limit.Window())
	q.drop()
	return until
}

// rotate begins a new current recentFor if the last one is over.
func (q *quota) rotate(now int64) {
	if over := now - q.since; over >= recentFor || over < 0 {
		if q.previous = q.current; over >= 2*recentFor {
			q.previous = 0
		}
		q.since, q.current = now, 0
	}
}

// room returns the number of rows to claim now.
func (q *quota) room(now int64) int { return q.most(now) - q.claimed }

// most returns the number of rows that may be claimed: one per permit, and one per row that got a permit recently,
// because so many handlers are likely to end before the next claim. Under a rate, most is the number of tokens, or of rows
// that begin in a quarter of a second: a row that waits for its token stays pending.
func (q *quota) most(now int64) int {
	most := math.MaxInt
	if q.limit.Running != 0 {
		q.rotate(now)
		most = q.permits() + min((overdueAhead-1)*q.permits(), q.current+q.previous)
	}
	if q.limit.PerSecond != 0 {
		most = min(most, q.running+max(q.ahead(now), int(math.Ceil(q.limit.PerSecond/4-0.2))))
	}
	return most
}

// low reports whether the claimed rows may run out before the next batch of claims: fewer than three quarters are left, or
// fewer than the handlers that may run. A claim after each handler would be a transaction for one row.
func (q *quota) low(now int64) bool {
	most := q.most(now)
	return q.claimed < min(most, max(most-most/4, min(q.permits(), q.capacity)))
}

// note notes the number of rows that could run.
func (q *quota) note() { q.peak = max(q.peak, q.claimed+q.pending.n) }

// demand returns the demand for the next call of Share, and gives permits back that the worker does not need (L1).
func (q *quota) demand(now int64, w wish) backend.Demand {
	d := backend.Demand{Scope: q.limit.Scope, Wants: min(max(q.peak, q.running), q.capacity)}
	if q.limit.Running != 0 {
		q.held = max(q.running, min(q.held, q.share, d.Wants))
		d.Keep = q.held
	}
	if q.limit.PerSecond != 0 {
		d.Starts, d.From = max(0, min(w.rows, q.startable())-q.ahead(now)), w.from
	}
	q.asked, q.unsaid = d, true
	q.peak, q.begun = 0, 0
	q.note()
	return d
}

// startable returns the number of handlers that may begin until the next call of Share. A token of a low rate must not wait
// for the end of another handler.
func (q *quota) startable() int {
	n := q.capacity
	if q.limit.Running != 0 {
		n = min(n, q.limit.Running)
	}
	if n = max(0, n-q.running); q.limit.PerSecond >= 2 {
		n += 2 * q.begun
	}
	return n
}

// wish is the number of rows that need a token of a quota, and the time from which one of them can use it.
type wish struct {
	rows int
	from int64
}

// wishes returns what the waiting rows need. covering returns the quotas of a row. A row with several rates first needs a
// token of the slowest rate, and then tokens of the others for the same time: tokens of different times are of no use. The
// slowest rate gives no more tokens than the others can give in time.
func wishes(quotas map[backend.Scope]*quota, covering func(*backend.Row) []*quota, now int64) map[*quota]wish {
	all := make(map[*quota]wish)
	rates := 0
	for _, q := range quotas {
		if q.limit.PerSecond != 0 {
			rates++
			all[q] = wish{rows: q.due.n + q.pending.n}
		}
	}
	if rates < 2 {
		return all
	}
	clear(all)
	note := func(h *flight) {
		rated := slices.DeleteFunc(covering(&h.row), func(q *quota) bool { return q.limit.PerSecond == 0 })
		slowest, others := rated[0], rated[1:]
		before := all[slowest].rows
		if slices.ContainsFunc(others, func(q *quota) bool { return before >= max(1, q.limit.Burst+int(q.limit.PerSecond/2)) }) {
			return
		}
		all[slowest] = wish{before + 1, 0}
		if slowest.ahead(now) <= before {
			return
		}
		for _, q := range others {
			w, from := all[q], slowest.nextToken(now)
			if w.rows > 0 {
				from = min(from, w.from)
			}
			all[q] = wish{w.rows + 1, from}
		}
	}
	for _, q := range quotas {
		most := q.startable()
		for _, list := range []*turns{&q.due, &q.pending} {
			for h := range list.all() {
				if most--; most < 0 || q.limit.PerSecond == 0 {
					break
				}
				note(h)
			}
		}
	}
	return all
}

// ahead returns the number of tokens.
func (q *quota) ahead(now int64) (n int) {
	q.nextToken(now) // drops old ones
	for i := range q.tokens {
		n += q.tokens[i].N
	}
	return n
}

// needs reports whether the worker has anything to demand or give back.
func (q *quota) needs() bool { return q.unsaid || q.claimed > 0 || q.running > 0 || q.peak > 0 }

// granted notes the answer to a demand.
func (q *quota) granted(g backend.Grant) {
	q.held, q.share, q.unsaid = g.Held, g.Share, g.Held > 0 || q.asked.Wants > 0
	q.short = g.Held < q.asked.Wants && q.limit.Running != 0 || g.Tokens.N < q.asked.Starts
	if q.limit.Running == 0 {
		q.held = backend.MaxRunning
	}
	if g.Tokens.N > 0 {
		q.tokens = append(q.tokens, g.Tokens)
	}
}
