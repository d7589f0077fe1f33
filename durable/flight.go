package durable

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashedwheel/hwt/durable/backend"
)

// A Work is seven roles around one table of the rows that it holds. The fetcher leases rows from the
// database, the claimer claims them shortly before they are due, the limiter keeps rows that lack a
// permit, the sharer gets permits from the database, the dispatcher calls handlers, the completer
// stores the outcomes, and the lease keeper says how long the worker may do that. Each role has its
// goroutines and its lock. newWorker and newClaimer connect the roles. Then only a role's methods write
// its fields.
//
// The roles hand each row from one to the next. A row that is lost between two roles never fires,
// and a row that two roles have fires twice. The ground rules exclude both.
//
// # Ground rules
//
//	W1. A held row is always in exactly one place. Its stage names the place. The goroutine that
//	    takes it from one place moves it into the next. Only the moves in follows are legal.
//	W2. Nothing on the wheel's goroutine blocks.
//	W3. No handler starts before the row is claimed and due, or after the lease ended.
//	W4. A row leaves the table after its outcome is stored or rejected, its claim was overtaken or is
//	    left to other workers, or the worker lost its lease before a handler succeeded. Until
//	    then only a copy for which supersededBy holds replaces it. If a pending copy replaced a row
//	    during its claim, and the claim is won, the row returns to the table.
//	W5. Rows that wait for a claim or for a handler leave by group in turn: a row waits for the
//	    rows of its group before it, and for one row of each other group per row of its group.
//
// W6, in feed.go, says which rows the fetcher reads next.

// flight is a row in the hands of a Work. By W1, one place at a time has the flight. A field without
// an access rule belongs to that place.
type flight struct {
	row     backend.Row
	kind    *kind // Immutable.
	stage   stage
	term    uint64 // lease under which it was taken. Immutable.
	claim   backend.Claim
	outcome backend.Outcome
	waits   int         // claims that waited for another row of the key
	began   int64       // time of the handler's call on the database's clock, or 0
	ended   int64       // time of its return
	leased  bool        // the database has marked the row as leased. Guarded by the mu of flights.
	again   bool        // a look has returned the row as leased after its claim: the database may have lost the claim. Guarded by the mu of flights.
	twice   bool        // a look has returned the row as claimed after its claim. Guarded by the mu of flights.
	claimed atomic.Bool // the worker has claimed the row, and has not released it since. Written by add, won, and the completer.
	done    atomic.Bool // its handler has succeeded. Written by add, and by the completer.
	inTx    atomic.Bool // a transaction has deleted it, and may have rolled back. Written by the completer.
}

// supersededBy reports whether a row that the database has just returned, in the present term,
// replaces h, an older copy of the row.
func (h *flight) supersededBy(row *backend.Row, term uint64) bool {
	switch {
	case h.done.Load(): // its outcome applies unless another worker, or this Work under a later lease, claims the row
		return row.State == backend.Claimed && row.Holder != h.row.Holder
	case h.term != term: // a copy from an earlier lease is never claimed
		return true
	case h.claimed.Load(): // row was read before the claim, or reports the same claim a second time
		return false
	case row.State == backend.Claimed: // for this worker: the claim of h was or will be overtaken
		return true
	case row.Begun() && !h.row.Begun(): // another Work has claimed and released it: the plan of h is out of date
		return true
	}
	return h.leased && row.Holder != 0 // leased a second time: the claim of h was refused
}

// crashed reports whether MaxCrashes claims of the row have ended without an outcome.
func (h *flight) crashed() bool {
	most := h.kind.options.MaxCrashes
	return most > 0 && h.row.Crashes >= most
}

// expired reports whether the row must not fire at a time any more.
func (h *flight) expired(now int64) bool { return h.row.NotAfter != 0 && now > h.row.NotAfter }

// onIllegalMove is called for a move that breaks W1 or W4. Tests replace it by a panic.
var onIllegalMove = func(error) {}

// move changes the place of a row.
func (h *flight) move(to stage) {
	if !h.stage.mayBecome(to) {
		onIllegalMove(fmt.Errorf("durable: key %.64q: illegal move from %v to %v", h.row.Key, h.stage, to))
	}
	h.stage = to
}

// moveAll moves rows.
func moveAll(rows []*flight, to stage) []*flight {
	for _, h := range rows {
		h.move(to)
	}
	return rows
}

// common is the part of a Work that its roles share.
type common struct {
	*env
	lease   *leaseKeeper
	flights *flights
	sweep   *sweep
}

// flights is the table of the rows that a Work holds.
type flights struct {
	kinds   kinds
	look    chan<- struct{}      // wakes the fetcher
	left    func(rows []*flight) // called for rows that leave the table. Immutable after newWorker.
	emptied context.Context      // ends when the table is closed and empty
	end     context.CancelFunc

	mu     sync.Mutex
	rows   map[backend.Ref]*flight // Guarded by mu.
	total  *memory                 // of all rows. Guarded by mu.
	claims int                     // number of claim batches under way. Copies may have replaced their rows. Guarded by mu.
	copies map[backend.Ref]bool    // claimed rows that looks have returned during these batches. Guarded by mu.
	closed bool                    // takes no further row. Guarded by mu.
}

// newFlights returns a table for kinds with memories. If one of them is the kind of all other keys, all kinds
// share the memory total.
func newFlights(ks kinds, total *memory, look chan<- struct{}) *flights {
	f := &flights{kinds: ks, look: look, rows: make(map[backend.Ref]*flight), copies: make(map[backend.Ref]bool), total: total, left: func([]*flight) {}}
	f.emptied, f.end = context.WithCancel(context.Background())
	return f
}

// memoryOf returns the memory of a kind, or the whole memory for nil: the fetcher cannot tell the kinds of adopted rows, and of
// rows that it reads together, before it has them.
func (f *flights) memoryOf(k *kind) *memory {
	if k == nil {
		return f.total
	}
	return k.memory
}

// count adds to the number of held rows of the kind and group of h. Suspects may wait for long, and take no room
// from new rows of their groups. The caller holds mu.
func (f *flights) count(h *flight, by int) {
	m := f.memoryOf(h.kind)
	if m != f.total {
		f.total.countApart(by)
	}
	if h.row.Crashes > 0 {
		m.countApart(by)
	} else if m.count(h.row.Group, by) {
		request(f.look)
	}
}

// reserve returns the number of rows of a kind and a group, up to most, that a call of the database may return. A
// nil group stands for all groups. Until cancel, other rows leave room for them.
func (f *flights) reserve(k *kind, group *string, most int) (n int, cancel func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n = max(0, min(most, f.memoryOf(k).roomFor(group)))
	f.expect(k, n)
	return n, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.expect(k, -n)
	}
}

// expect adds to the number of rows that may come. The caller holds mu.
func (f *flights) expect(k *kind, n int) {
	if f.total.coming += n; f.memoryOf(k) != f.total {
		k.memory.coming += n
	}
}

// halfEmpty reports whether the table has room for half of the rows of a kind, or more.
func (f *flights) halfEmpty(k *kind) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.memoryOf(k)
	return m.held <= m.most/2
}

// pass makes the feed of a kind pass over the groups that have reached their shares, and returns them.
func (f *flights) pass(k *kind) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.memoryOf(k).pass()
}

// sated returns the groups of a kind, out of some, that hold their shares and a quarter more: a sweep
// reads rows of a group that are before its position, although the position fills the share.
func (f *flights) sated(k *kind, some []string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(some, func(group string) bool { return !k.memory.overdrawn(group) })
}

// rejoin ends pass for a group.
func (f *flights) rejoin(k *kind, group string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(k.memory.passed, group)
}

// addition is the answer of add.
type addition uint8

const (
	added  addition = iota
	known           // the copy in the table stays
	full            // there is no room
	sated           // the group of the row holds its share
	closed          // the Work takes no further row, or not this row
	ended           // its handler has succeeded under an earlier lease, with the outcome
)

// add takes a row into the table. A reserved row was counted by reserve.
func (f *flights) add(row backend.Row, term uint64, reserved bool) (*flight, addition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	leased := row.Holder != 0
	k := f.kinds.of(row.Key)
	old := f.rows[row.Ref()]
	switch {
	case old != nil && !old.supersededBy(&row, term):
		old.leased = old.leased || leased
		if claimed := row.State == backend.Claimed; leased && old.claimed.Load() {
			old.twice, old.again = old.twice || claimed, old.again || !claimed
		}
		return old, known
	case f.closed:
		return nil, closed
	case !reserved && f.memoryOf(k).room() <= 0:
		return nil, full
	case !reserved && f.memoryOf(k).sated(row.Group):
		return nil, sated
	}
	h, answer := &flight{row: row, kind: k, term: term, leased: leased}, added
	if row.State == backend.Claimed {
		h.claimed.Store(true)
		if f.claims > 0 {
			f.copies[row.Ref()] = true
		}
	}
	if old != nil {
		f.count(old, -1)
		if old.done.Load() {
			h.outcome, answer = old.outcome, ended
			h.done.Store(true)
		}
	}
	f.rows[row.Ref()] = h
	f.count(h, 1)
	return h, answer
}

// acknowledges reports whether a copy that has replaced h has its outcome.
func (f *flights) acknowledges(h *flight) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	other := f.rows[h.row.Ref()]
	return other != nil && other != h && other.done.Load()
}

// has reports whether a row is in the table, and no copy has replaced it.
func (f *flights) has(h *flight) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rows[h.row.Ref()] == h
}

// claiming adds to the number of claim batches under way. emptied does not end while a batch is under way.
func (f *flights) claiming(by int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.claims += by; f.claims == 0 {
		clear(f.copies)
	}
	f.endIfEmpty()
}

// won notes that the claim of a row was won. If a pending copy has replaced the row in the table, won puts the row back. If a claimed
// copy has replaced the row, the copy fires or has fired: won changes nothing and returns false.
func (f *flights) won(h *flight) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.rows[h.row.Ref()]; other != h {
		if f.copies[h.row.Ref()] {
			return false
		}
		if other != nil {
			f.count(other, -1)
			h.leased, h.again = h.leased || other.leased, h.again || other.leased
		}
		f.rows[h.row.Ref()] = h
		f.count(h, 1)
	}
	h.claimed.Store(true)
	return true
}

// remove removes rows that have left their last places.
func (f *flights) remove(rows ...*flight) {
	f.left(rows)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range moveAll(rows, dropped) {
		f.drop(h)
	}
	f.endIfEmpty()
}

// wasLeased reports whether the database has marked a row as leased.
func (f *flights) wasLeased(h *flight) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return h.leased
}

// leave takes a row whose outcome did not apply, or whose claim was overtaken, out of the table. It reports whether a look
// has returned the row as leased after its claim. It leaves a row in the table that a look has returned as claimed after its
// claim, once per such look: the outcome or another claim may apply now.
func (f *flights) leave(h *flight) (gone, leased bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h.twice {
		h.twice = false
		return false, false
	}
	f.drop(h)
	return true, h.again
}

// leave is flights.leave. For a leased row, leave requests a sweep. Before the sweep, the fetcher makes the database free the row.
func (c *common) leave(h *flight) (gone bool) {
	gone, leased := c.flights.leave(h)
	if leased {
		c.sweep.unplanned.Store(true)
		c.sweep.want()
	}
	return gone
}

// drop deletes a row from the table, unless a copy has replaced it. The caller holds mu.
func (f *flights) drop(h *flight) {
	if ref := h.row.Ref(); f.rows[ref] == h {
		delete(f.rows, ref)
		f.count(h, -1)
	}
}

// close lets no further row into the table.
func (f *flights) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.endIfEmpty()
}

// endIfEmpty ends the wait for emptied. The caller holds mu.
func (f *flights) endIfEmpty() {
	if f.closed && len(f.rows)+f.claims == 0 {
		f.end()
	}
}

// size returns the number of rows in the table and of batches of claims, and whether it is closed.
func (f *flights) size() (n int, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.rows) + f.claims, f.closed
}

// stage is the place of a held row, by W1. The place that has the row alone reads and changes it.
type stage uint8

const (
	accepted  stage = iota // taken into the table
	ahead                  // waits for the time of its claim
	claimable              // waits for the next batch of claims
	backlog                // overdue; waits until there is room in the queue
	suspected              // adopted; waits for its trial, claimed
	throttled              // due soon; waits until a limit has room for its claim
	claiming               // in a batch of claims
	waiting                // claimed; on the wheel
	queued                 // due; waits for a handler
	limited                // due; waits for a permit or a token of a limit
	firing                 // a handler runs, or is about to
	finished               // waits for the next batch of outcomes
	storing                // in a batch of outcomes
	dropped                // from every place
)

var stageNames = [...]string{"accepted", "ahead", "claimable", "backlog", "suspected", "throttled", "claiming", "waiting", "queued", "limited", "firing", "finished", "storing", "dropped"}

// follows has, for each stage, the stages that may follow it.
var follows = [...][]stage{
	accepted:  {ahead, claimable, backlog, suspected, waiting, finished, dropped},
	ahead:     {claimable, suspected, dropped},
	claimable: {throttled, claiming, dropped},
	backlog:   {throttled, claiming, dropped},
	suspected: {claiming, dropped},
	throttled: {claimable, dropped},
	claiming:  {ahead, claimable, suspected, waiting, finished, dropped}, // finished: the clock was set back far
	waiting:   {queued, finished},                                        // finished: the queue is closed
	queued:    {firing, finished},
	limited:   {queued, finished, dropped},           // dropped: the lease has ended
	firing:    {waiting, limited, finished, dropped}, // waiting: it is early; dropped: the lease has ended
	finished:  {storing},
	storing:   {finished, dropped},
	dropped:   {},
}

// mayBecome reports whether a row may go from stage s to another stage.
func (s stage) mayBecome(to stage) bool { return slices.Contains(follows[s], to) }

// String returns the name of s.
func (s stage) String() string { return stageNames[s] }
