package durable

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// limiter keeps the limits of the store. A handler begins only under a permit and a token of each limit that has
// its row. Rows that lack one wait here, by limit, and delay no other row.
//
// A row is claimed only if it is likely to get its permits soon. The others wait here, pending, where Cancel
// reaches them.
type limiter struct {
	common
	completer *completer
	parts     limitedKinds    // Immutable after newWorker.
	wake      chan struct{}   // wakes the sharer
	claims    chan<- struct{} // wakes the claimer for pending rows. Immutable after newClaimer.

	mu      sync.Mutex
	term    uint64                   // of the permits. Guarded by mu.
	quotas  map[backend.Scope]*quota // Guarded by mu.
	lengths []int                    // of the prefixes of quotas, ascending. Guarded by mu.
	rows    map[*flight]*limitedRow  // Guarded by mu.
	waiting map[*quota]bool          // with pending rows. Guarded by mu.
	urgent  bool                     // a row waits for a first permit, or another worker for one of these. Guarded by mu.
	closed  bool                     // rows no longer wait. Guarded by mu.
	active  atomic.Bool              // there are quotas, rows, or waiting ones. Written under mu.
}

// limitedKind is the part of a dispatcher that the limiter uses.
type limitedKind struct {
	kind    *kind
	callers callers
	queue   *queue
}

// limitedKinds are the dispatchers of a Work.
type limitedKinds []limitedKind

// pass passes claimed rows on to the next handlers: their tokens do not wait for rows without limits.
func (ks limitedKinds) pass(rows []*flight, c *completer) {
	for _, h := range rows {
		if !ks[h.kind.index].queue.putFirst(h) {
			c.release(h)
		}
	}
}

// capacity returns the number of handlers that may run in a scope.
func (ks limitedKinds) capacity(scope backend.Scope) (n int) {
	for _, k := range ks {
		if name := k.kind.name; name == "" || strings.HasPrefix(name, scope.Prefix) || backend.KindOf(scope.Prefix) == name {
			n += len(k.callers)
		}
	}
	return n
}

// running yields the rows of the handlers that run. The caller holds the mu of the limiter.
func (ks limitedKinds) running() iter.Seq[*flight] {
	return func(yield func(*flight) bool) {
		for _, k := range ks {
			for i := range k.callers {
				if h := k.callers[i].flight; h != nil && !yield(h) {
					return
				}
			}
		}
	}
}

// limitedRow is a row with limits that is claimed, or about to be.
type limitedRow struct {
	claims  []*quota // which count it as claimed
	permits []*quota // of which it has a permit
	until   int64    // end of the window of its tokens
}

func newLimiter(w common, done *completer) *limiter {
	l := &limiter{common: w, completer: done, wake: make(chan struct{}, 1), quotas: make(map[backend.Scope]*quota),
		rows: make(map[*flight]*limitedRow), waiting: make(map[*quota]bool)}
	w.flights.left = l.left
	return l
}

// covering returns the quotas of a row: first those without a rate, and then the slowest. A row waits for the first one that has no
// room. The caller holds mu.
func (l *limiter) covering(r *backend.Row) (all []*quota) {
	for _, n := range l.lengths {
		if n > len(r.Key) {
			break
		}
		prefix := r.Key[:n]
		if q := l.quotas[backend.Scope{Prefix: prefix}]; q != nil {
			all = append(all, q)
		}
		if q := l.quotas[backend.Scope{Prefix: prefix, Group: r.Group}]; q != nil && r.Group != "" {
			all = append(all, q)
		}
	}
	if len(all) > 1 {
		slices.SortStableFunc(all, func(a, b *quota) int { return cmp.Compare(a.limit.PerSecond, b.limit.PerSecond) })
	}
	return all
}

// begin reports whether the handler of h may begin now. Otherwise, h waits for a permit or a token.
func (l *limiter) begin(h *flight, c *caller) bool {
	l.mu.Lock()
	admitted, closed := len(l.quotas) == 0 || l.admit(h), l.closed
	if admitted {
		c.flight = h
	}
	l.mu.Unlock()
	if !admitted && closed {
		l.completer.release(h)
	}
	return admitted
}

// admit is begin for a store with limits. The caller holds mu.
func (l *limiter) admit(h *flight) bool {
	now, all := l.clock.nanos(), l.covering(&h.row)
	u := l.rows[h]
	if u == nil && len(all) > 0 { // the database claimed it, or it was claimed without a limit
		u = l.count(h, all)
	}
	if u == nil {
		return true
	}
	lacks := func(q *quota) bool { return !slices.Contains(u.permits, q) || q.running > q.permits() }
	if len(u.permits) > 0 && u.until >= now && !slices.ContainsFunc(all, lacks) { // as long as no limit has changed
		return true
	}
	if len(u.permits) > 0 { // for the next rows
		request(l.wake)
	}
	l.giveBack(u)
	var q *quota
	if i := slices.IndexFunc(all, func(q *quota) bool { return q.due.n > 0 }); i >= 0 { // rows that come first
		q = all[i]
	} else {
		q = l.take(h, all, now)
	}
	if q != nil && !l.closed {
		h.move(limited)
		l.park(q, &q.due, h)
	}
	return q == nil
}

// take gives h the permits and tokens of quotas, or returns a quota that lacks them. The caller holds mu.
func (l *limiter) take(h *flight, all []*quota, now int64) (lacks *quota) {
	for _, q := range all {
		if h.term > l.term || !q.may(now) { // permits of an earlier lease have ended (L4)
			return q
		}
	}
	u := l.rows[h]
	if u == nil { // it has left, which its handler will find
		u = l.count(h, all)
	}
	u.claim(all...)
	u.permits = all
	for i, q := range all {
		if until := q.take(now); i == 0 || until < u.until {
			u.until = until
		}
	}
	return nil
}

// park makes h wait for a quota, in one of the quota's lists. It wakes the sharer if the worker lacks a permit or a
// token that the last call of Share may not have refused. The caller holds mu.
func (l *limiter) park(q *quota, list *turns, h *flight) {
	if list.put(h); list == &q.pending {
		l.waiting[q] = true
	} else if u := l.rows[h]; u != nil {
		roomy := slices.ContainsFunc(u.claims, func(other *quota) bool { return other != q && other.pending.n > 0 })
		if u.claim(q); roomy {
			request(l.claims)
		}
	}
	q.note()
	if !l.urgent && !q.short && (q.permits() == 0 || q.limit.PerSecond != 0) {
		l.urgent = true
		request(l.wake)
	}
}

// claim makes quotas count the row as claimed, in place of the ones before. Only the quota for which a claimed row waits counts it:
// the row may wait for a day, and must take no room from the rows of others. The caller holds the mu of the limiter.
func (u *limitedRow) claim(quotas ...*quota) {
	for _, q := range u.claims {
		q.claimed--
	}
	u.claims = quotas
	for _, q := range quotas {
		q.claimed++
	}
}

// count counts h as claimed. The caller holds mu.
func (l *limiter) count(h *flight, all []*quota) *limitedRow {
	u := &limitedRow{}
	l.rows[h] = u
	u.claim(all...)
	for _, q := range all {
		q.note()
	}
	return u
}

// giveBack returns the permits of a row. The caller holds mu.
func (l *limiter) giveBack(u *limitedRow) {
	for _, q := range u.permits {
		if q.running--; q.running == q.share && q.held > q.share { // another worker waits for the others
			l.urgent = true
			request(l.wake)
		}
	}
	u.permits = nil
}

// ended notes the end of a handler. The next rows get its permits.
func (l *limiter) ended(h *flight, c *caller) {
	l.mu.Lock()
	c.flight = nil
	var next []*flight
	if u := l.rows[h]; u != nil {
		free := u.permits
		l.forget(h, u)
		next = l.next(free)
		now := l.clock.nanos()
		for _, q := range free {
			if q.limit.PerSecond != 0 && q.due.n+q.pending.n > 0 && q.permits() > q.running && q.ahead(now) == 0 && !q.short && !l.urgent {
				l.urgent = true // for a token, which a handler could not use before
				request(l.wake)
			}
		}
	}
	l.mu.Unlock()
	l.parts.pass(next, l.completer)
}

// forget makes h leave its limits. The caller holds mu.
func (l *limiter) forget(h *flight, u *limitedRow) {
	l.giveBack(u)
	u.claim()
	delete(l.rows, h)
	l.active.Store(len(l.quotas)+len(l.rows)+len(l.waiting) > 0)
}

// left notes that rows have left the Work, or are no longer about to be claimed.
func (l *limiter) left(rows []*flight) {
	if !l.active.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range rows {
		if u := l.rows[h]; u != nil {
			l.forget(h, u)
			request(l.wake)
		}
	}
}

// next returns rows that get permits of quotas, and expired rows, which need no permit. The caller holds mu.
func (l *limiter) next(quotas []*quota) (rows []*flight) {
	now := l.clock.nanos()
	for _, q := range quotas {
		for q.due.n > 0 && (q.may(now) || q.due.first().expired(now)) {
			h := q.due.take()
			var lacks *quota
			if !h.expired(now) {
				lacks = l.take(h, l.covering(&h.row), now)
			}
			if lacks == nil {
				rows = append(rows, h)
			} else if l.park(lacks, &lacks.due, h); lacks == q { // the lease of h has not shared yet
				break
			}
		}
		if q.pending.n > 0 && q.low(now) {
			request(l.claims)
		}
	}
	return rows
}

// admitClaims returns the rows that may be claimed now. The others wait here, pending.
func (l *limiter) admitClaims(rows []*flight) []*flight {
	if !l.active.Load() {
		return rows
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now, kept := l.clock.nanos(), rows[:0]
	for _, h := range rows {
		all := l.covering(&h.row)
		if l.rows[h] != nil || len(all) == 0 || h.expired(now) || l.closed { // the row had room before, or needs no room
			kept = append(kept, h)
			continue
		}
		if i := slices.IndexFunc(all, func(q *quota) bool { return q.pending.n > 0 || q.room(now) <= 0 }); i >= 0 {
			h.move(throttled)
			l.park(all[i], &all[i].pending, h)
			continue
		}
		l.count(h, all)
		kept = append(kept, h)
	}
	return kept
}

// claimable returns pending rows for which there is room now.
func (l *limiter) claimable() (rows []*flight) {
	if !l.active.Load() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.nanos()
	for q := range l.waiting {
		for q.pending.n > 0 && (q.room(now) > 0 || q.pending.first().expired(now)) {
			h := q.pending.take()
			if h.expired(now) {
				rows = append(rows, h)
				continue
			}
			all := l.covering(&h.row)
			if i := slices.IndexFunc(all, func(other *quota) bool { return other != q && other.room(now) <= 0 }); i >= 0 {
				l.park(all[i], &all[i].pending, h)
				continue
			}
			l.count(h, all)
			rows = append(rows, h)
		}
		if q.pending.n == 0 {
			delete(l.waiting, q)
		}
	}
	l.active.Store(len(l.quotas)+len(l.rows)+len(l.waiting) > 0)
	return rows
}

// close lets no further row wait. It returns the pending ones, and releases claimed ones.
func (l *limiter) close() (pending []*flight) {
	l.mu.Lock()
	l.closed = true
	var due []*flight
	for _, q := range l.quotas {
		due = append(due, q.due.takeFirst(q.due.n)...)
	}
	for q := range l.waiting {
		pending = append(pending, q.pending.takeFirst(q.pending.n)...)
	}
	clear(l.waiting)
	l.mu.Unlock()
	for _, h := range due {
		l.completer.release(h)
	}
	return pending
}

// held returns the number of rows that wait for limits, and the due time of the first claimed one, or 0.
func (l *limiter) held() (n int64, due int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.quotas {
		n += int64(q.due.n + q.pending.n)
		for h := range q.due.all() {
			due = sooner(due, h.row.Due)
		}
	}
	return n, due
}

// load takes limits over.
func (l *limiter) load(limits []backend.LimitUse) {
	l.mu.Lock()
	old := l.quotas
	l.quotas, l.lengths = make(map[backend.Scope]*quota), nil
	for _, use := range limits {
		q := old[use.Scope]
		if q == nil {
			q = &quota{}
		}
		if q.limit != use.Limit { // L3: the worker begins no handler until it has shared the new limit
			q.limit, q.share, q.tokens, q.unused = use.Limit, 0, nil, false
			q.held = min(q.held, max(q.running, use.Running))
		}
		q.capacity = l.parts.capacity(use.Scope)
		l.quotas[use.Scope] = q
		l.lengths = append(l.lengths, len(use.Prefix))
		delete(old, use.Scope)
	}
	slices.Sort(l.lengths)
	l.lengths = slices.Compact(l.lengths)
	l.active.Store(len(l.quotas)+len(l.rows)+len(l.waiting) > 0)
	for h := range l.parts.running() {
		l.register(h)
	}
	var next []*flight
	for _, q := range old { // removed
		next = append(next, q.due.takeFirst(q.due.n)...)
		q.limit = backend.Limit{} // its pending rows have room
	}
	l.mu.Unlock()
	l.parts.pass(next, l.completer)
	request(l.claims)
}

// register counts a running handler in scopes with new limits. The caller holds mu.
func (l *limiter) register(h *flight) {
	all := l.covering(&h.row)
	if l.rows[h] == nil && len(all) > 0 {
		l.count(h, all)
	}
	for _, q := range all {
		if u := l.rows[h]; !slices.Contains(u.permits, q) {
			u.permits = append(slices.Clone(u.permits), q)
			q.running++
		}
	}
	if u := l.rows[h]; u != nil {
		u.claim(all...)
	}
}

// demands returns the demands of the worker in a term of its lease. Rows of an earlier term leave the table: other
// workers have them.
func (l *limiter) demands(term uint64) (demands []backend.Demand) {
	l.mu.Lock()
	now := l.clock.nanos()
	var earlier []*flight
	for _, q := range l.quotas {
		if l.term != term { // L4
			q.held, q.share, q.tokens, q.unused = 0, 0, nil, false
			earlier = append(earlier, q.due.takeOthers(term)...)
			earlier = append(earlier, q.pending.takeOthers(term)...)
		}
	}
	needed := wishes(l.quotas, l.covering, now)
	for _, q := range l.quotas {
		if q.needs() || needed[q].rows > 0 {
			demands = append(demands, q.demand(now, needed[q]))
		}
	}
	l.term, l.urgent = term, false
	l.mu.Unlock()
	l.flights.remove(earlier...)
	return demands
}

// granted notes grants, and reports whether the worker is to get more permits when other workers have given them back,
// or know the limit.
func (l *limiter) granted(grants []backend.Grant) (more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range grants {
		if q := l.quotas[g.Scope]; q != nil && q.limit == g.Limit {
			q.granted(g)
			more = more || q.peak > q.permits() && (q.held < q.share || q.share == 0)
		}
	}
	now := l.clock.nanos()
	for q, w := range wishes(l.quotas, l.covering, now) { // soon, for the other rates of rows
		l.urgent = l.urgent || w.from != 0 && min(w.rows, q.startable()) > q.ahead(now) && !q.short
	}
	request(l.claims)
	return more
}

// advance passes on rows that can begin now, and returns the time until the next token for others, and whether
// permits are needed soon.
func (l *limiter) advance() (untilToken time.Duration, urgent, some bool) {
	l.mu.Lock()
	next := l.next(slices.Collect(maps.Values(l.quotas)))
	now, at := l.clock.nanos(), int64(math.MaxInt64)
	for _, q := range l.quotas {
		if q.due.n > 0 && q.limit.PerSecond != 0 && q.permits() > q.running {
			at = min(at, q.nextToken(now))
		}
	}
	urgent, some = l.urgent, len(l.quotas) > 0
	l.mu.Unlock()
	l.parts.pass(next, l.completer)
	return time.Duration(at - now), urgent, some
}
