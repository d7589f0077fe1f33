package durable

import (
	"math"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// quota is the part of a worker in a limit. The mu of the limiter guards it.
type quota struct {
	limit       backend.Limit
	capacity    int // handlers of the Work that may run in the scope
	held, share int // permits of the worker, and those of them under which handlers may begin
	tokens      []backend.Tokens
	running     int // rows with a permit
	claimed     int // rows that are claimed, or about to be, and have not ended
	peak        int // of claimed and pending rows since the last call of Share
	begun       int // rows that got a permit since then
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

// nextToken returns the time of the next token, or MaxInt64. Tokens that were not used in time are lost, and so
// are tokens of a time to which the clock was set back.
func (q *quota) nextToken(now int64) int64 {
	for len(q.tokens) > 0 {
		t := &q.tokens[0]
		if at := t.At(0); t.N > 0 && at+int64(q.limit.Window()) >= now && at <= now+2*int64(backend.ShareEvery) {
			return at
		}
		q.drop()
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
	until = q.nextToken(now) + int64(q.limit.Window())
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
// because so many handlers are likely to end before the next claim. Under a rate, most is the number of rows that begin
// in a quarter of a second.
func (q *quota) most(now int64) int {
	most := math.MaxInt
	if q.limit.Running != 0 {
		q.rotate(now)
		most = q.permits() + min((overdueAhead-1)*q.permits(), q.current+q.previous)
	}
	if q.limit.PerSecond != 0 {
		most = min(most, q.running+1+int(q.limit.PerSecond/4))
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
func (q *quota) demand(now int64) backend.Demand {
	d := backend.Demand{Scope: q.limit.Scope, Wants: min(max(q.peak, q.running), q.capacity)}
	if q.limit.Running != 0 {
		q.held = max(q.running, min(q.held, q.share, d.Wants))
		d.Keep = q.held
	}
	if q.limit.PerSecond != 0 {
		d.Starts = max(0, min(q.due.n+q.pending.n, max(0, q.capacity-q.running)+2*q.begun)-q.ahead(now))
	}
	q.asked, q.unsaid = d, true
	q.peak, q.begun = 0, 0
	q.note()
	return d
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
