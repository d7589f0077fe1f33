package durable

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// adoptEvery is the shortest pause between two looks for rows of workers that are gone, and mostAdoptEvery the longest.
// A look may read many rows of other kinds: between these limits, the pause is twenty times as long as the last look. After an
// error, the pause is the shortest.
const (
	adoptEvery     = time.Second
	mostAdoptEvery = 5 * time.Second
)

// fetcher takes rows from the database: pending rows that are due soon, and claimed rows of workers
// that are gone. It requests only rows after the last row that it has seen in the order of due
// times: a look costs little without new rows. Sweeps find the rows that appear before that
// watermark.
type fetcher struct {
	common
	claimer    *claimer
	limiter    *limiter
	sharer     *sharer
	wakeOthers func()   // makes the other Works of the store look
	kinds      []string // names of the kinds of the Work, or nil for all
	schedules  []string // names that the Work knows
	serial     bool     // claims may have to wait: the database claims no row at the lease

	feeds    []*feed   // Of run.
	together *together // nil if each kind has a feed in feeds. Of run.
	behind   time.Time // of the last look behind a main position. Of run.
}

// run leases rows until ctx ends. It returns ErrClosed if the database has closed itself.
func (f *fetcher) run(ctx context.Context) error {
	poll := f.limits.Poll
	timer := time.NewTimer(0)
	defer timer.Stop()
	var swept, adopt time.Time
	pause := poll
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-f.sweep.look:
		}
		if sweeps := f.sweeps(time.Since(swept)); len(sweeps) > 0 {
			if f.sweep.unplanned.Swap(false) {
				f.returnLeased() // for a worker that can claim them, and looks first
				swept = time.Time{}
				timer.Reset(poll)
				continue
			}
			for _, each := range sweeps {
				each.restart(f.recent())
			}
			if len(sweeps) == len(f.feeds) {
				swept = time.Now()
			}
		}
		if began := time.Now(); !began.Before(adopt) {
			more, err := f.adopt(ctx)
			for more {
				began = time.Now()
				more, err = f.adopt(ctx)
			}
			rest := adoptEvery
			if err == nil {
				rest = min(max(rest, 20*time.Since(began)), mostAdoptEvery)
			}
			adopt = time.Now().Add(rest)
		}
		if err := f.leaseRows(ctx); errors.Is(err, ErrClosed) {
			f.options.Logger.Error("durable: the database has closed; Work ends", "error", err)
			return ErrClosed
		} else if err != nil && ctx.Err() == nil {
			f.trouble("durable: cannot look for due entries; retrying", err, "pause", pause)
			swept = time.Time{}
			pause = min(2*pause, maxPause)
		} else {
			pause = poll
		}
		timer.Reset(pause)
	}
}

// sweeps returns the feeds of which the next look is a sweep. A requested sweep waits until there is room
// for its rows.
func (f *fetcher) sweeps(since time.Duration) (due []*feed) {
	if since >= sweepEvery || since >= doubtEvery && f.inDoubt() {
		return f.feeds
	}
	wanted := f.sweep.wanted.Swap(false)
	for _, each := range f.feeds {
		each.sweep = each.sweep || wanted
		if each.sweep && f.flights.halfEmpty(each.kind) {
			due = append(due, each)
		} else if each.sweep && each.kind == nil { // the rows of a kind would wait for the room of others
			f.together.apart = true
		}
	}
	return due
}

// returnLeased returns leased rows to the database and makes other Works look.
func (f *fetcher) returnLeased() {
	f.lease.returnRows()
	f.wakeOthers()
}

// leaseRows leases rows within the lead, from the watermarks on, while there is room.
func (f *fetcher) leaseRows(ctx context.Context) error {
	if err := f.clock.measure(ctx); err != nil {
		return err
	}
	id, _, valid := f.current()
	if !valid {
		return nil // the lease keeper or the limiter is at work
	}
	var more []*position
	for _, each := range f.feeds {
		f.passOver(each)
		more = append(more, each.positions()...)
	}
	for _, p := range more {
		if p.mark.Due > f.clock.nanos()+int64(f.limits.Lead) { // the clock was set back
			p.mark = backend.Cursor{}
		}
	}
	for begun := time.Now(); len(more) > 0 && ctx.Err() == nil; {
		var err error
		if more, err = f.leaseBatch(ctx, id, more); err != nil {
			return err
		}
		if f.isApart(more) && f.part(ctx) {
			return nil
		}
		if time.Since(begun) >= f.limits.Poll { // other positions, sweeps, and adoption have their turns
			request(f.sweep.look)
			break
		}
	}
	return f.lookBehind(ctx, id)
}

// isApart reports whether each kind needs a feed now that one feed has read a batch.
func (f *fetcher) isApart(more []*position) bool {
	t := f.together
	if t == nil {
		return false
	}
	if len(more) > 0 && more[0].mark.Due < f.clock.nanos() {
		t.overdue++
	} else {
		t.overdue = 0
	}
	return t.apart || t.overdue >= lagging
}

// part gives each kind a feed, which begins with a sweep. If the database cannot prepare for it, part reports false, and
// tries again after a pause.
func (f *fetcher) part(ctx context.Context) bool {
	t := f.together
	if t.apart = false; time.Since(t.failed) < t.pause {
		return false
	}
	if err := f.backend.PrepareKinds(ctx); err != nil {
		t.failed, t.pause = time.Now(), min(max(sweepEvery, 2*t.pause), time.Minute)
		if ctx.Err() == nil {
			f.trouble("durable: cannot prepare the database for separate looks at kinds; retrying", err, "pause", t.pause)
		}
		return false
	}
	f.feeds, f.together = t.feeds, nil
	request(f.sweep.look)
	return true
}

// recent returns the position from which on sweeps read first while a feed passes over groups.
func (f *fetcher) recent() backend.Cursor {
	return backend.Cursor{Due: f.clock.nanos() - int64(nearSlack)}
}

// lookBehind continues the sweeps behind the main positions once per poll, for a tenth of the time at most.
func (f *fetcher) lookBehind(ctx context.Context, id int64) error {
	begun := time.Now()
	if begun.Sub(f.behind) < f.limits.Poll {
		return nil
	}
	f.behind = begun
	for _, d := range f.feeds {
		d.reread(f.recent()) // at the next look
		for more := true; more && d.behind != nil && ctx.Err() == nil && time.Since(begun) < f.limits.Poll/10; {
			some, err := f.leaseBatch(ctx, id, []*position{d.behind})
			if err != nil {
				return err
			}
			if more = len(some) > 0; d.behind.ended || d.behind.mark.Compare(d.main.mark) >= 0 {
				d.behind = nil
			}
		}
	}
	return nil
}

// current returns the worker's id, the term, and whether the lease lasts and the limits are known.
func (f *fetcher) current() (id int64, term uint64, valid bool) {
	id, term, valid = f.lease.current()
	return id, term, valid && f.sharer.knows(term)
}

// leaseBatch leases a batch of rows, and returns the positions behind which there may be more. The database
// may have marked the rows as leased: only the end of the lease makes it return them again.
func (f *fetcher) leaseBatch(ctx context.Context, id int64, positions []*position) (more []*position, err error) {
	req := backend.LeaseRequest{Worker: id, Until: f.clock.nanos() + int64(f.limits.Lead), Schedules: f.schedules, Unclaimed: f.serial || f.limiter.active.Load()}
	var asked []*position
	for _, p := range positions {
		n, cancel := f.flights.reserve(p.feed.kind, p.group, max(1, f.limits.LeaseBatch/len(positions)))
		defer cancel()
		if n > 0 { // otherwise the next poll continues
			req.Lanes = append(req.Lanes, f.lane(p, n))
			asked = append(asked, p)
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	lanes, err := f.backend.Lease(ctx, req)
	for i, lane := range lanes {
		p := asked[i]
		refused, valid := f.acceptAll(lane.Rows, p.feed.kind != nil)
		if !valid {
			return nil, nil
		}
		if p.feed.kind == nil {
			f.together.apart = f.together.apart || refused || lane.Apart
		}
		if p.mark, p.ended = lane.Reached, !lane.More; lane.More {
			more = append(more, p)
		} else if p.group != nil {
			p.feed.rejoin(p)
			f.flights.rejoin(p.feed.kind, *p.group)
		}
	}
	for _, p := range asked {
		f.passOver(p.feed)
	}
	return more, f.withoutDamage(err)
}

// acceptAll takes rows into the table. It reports whether a kind or a group had no room, unless the rows are reserved,
// and whether the lease lasts.
func (f *fetcher) acceptAll(rows []backend.Row, reserved bool) (refused, valid bool) {
	for _, row := range rows {
		if f.accept(row, reserved) {
			continue
		}
		if _, _, valid := f.current(); reserved || !valid {
			return false, false
		}
		refused = true
	}
	return refused, true
}

// lane returns the lane of up to n rows behind a position. The sweep behind the main position takes rows of groups
// that have room.
func (f *fetcher) lane(p *position, n int) backend.Lane {
	if p.feed.kind == nil {
		return backend.Lane{Kinds: f.kinds, After: p.mark, Max: n}
	}
	lane := backend.Lane{Kind: p.feed.kind.name, Group: p.group, After: p.mark, Max: n}
	if p.group == nil && len(p.feed.passed) > 0 {
		if lane.Without = p.feed.groups(); p == p.feed.behind {
			lane.Without = f.flights.sated(p.feed.kind, lane.Without)
		}
	}
	return lane
}

// passOver makes a feed pass over the groups that have reached their shares.
func (f *fetcher) passOver(d *feed) {
	for _, group := range f.flights.pass(d.kind) {
		d.pass(group)
	}
}

// withoutDamage logs an error that reports damaged rows, and returns any other error: a
// damaged row does not fire, and delays no other. Every look may find it again.
func (f *fetcher) withoutDamage(err error) error {
	if !errors.Is(err, ErrDamaged) {
		return err
	}
	f.backend.Trouble().Log(f.options.Logger, slog.LevelError, "durable: damaged entries do not fire", err.Error(), "error", err)
	return nil
}

// adopt takes over a batch of rows of workers that are gone, and reports whether there may
// be more.
func (f *fetcher) adopt(ctx context.Context) (more bool, err error) {
	id, _, valid := f.current()
	n, cancel := f.flights.reserve(nil, nil, min(f.limits.LeaseBatch, f.claimer.suspectRoom()))
	defer cancel()
	if !valid || n == 0 || ctx.Err() != nil {
		return false, nil
	}
	rows, err := f.backend.Adopt(ctx, id, f.kinds, n)
	if err = f.withoutDamage(err); err != nil && ctx.Err() == nil {
		f.trouble("durable: cannot take over entries of other workers; retrying", err)
	}
	f.counts.adopted.Add(int64(len(rows)))
	for i := range rows {
		f.accept(rows[i], true)
	}
	return err == nil && (len(rows) == n || backend.Payloads(rows) >= backend.BatchBytes), err
}

// offer takes near rows of this store, and returns the rows that it does not take: there is no
// room, or the Work does not handle their kinds or know their schedules. It never blocks.
func (f *fetcher) offer(rows []backend.Row) (left []backend.Row) {
	for _, row := range rows {
		k := f.flights.kinds.of(row.Key)
		if k == nil || row.Schedule != "" && k.options.Schedules[row.Schedule] == nil {
			left = append(left, row)
		} else if !f.accept(row, false) {
			f.sweep.want() // which finds it again
			left = append(left, row)
		}
	}
	return left
}

// accept takes a row into the table and passes it on. It reports whether the Work holds the row,
// now or already.
func (f *fetcher) accept(row backend.Row, reserved bool) bool {
	switch h, answer := f.add(row, reserved); {
	case answer == known:
		return true
	case answer == ended:
		f.claimer.completer.finish(h, h.outcome)
	case answer != added:
		return false
	case row.State == backend.Claimed && (row.Tried || row.Crashes > 0 && !h.crashed()): // in doubt, or adopted
		f.claimer.put(h, 0)
	case row.State == backend.Claimed:
		f.counts.leased.Add(1)
		f.claimer.dispatchers[h.kind.index].await(h)
	default:
		f.counts.leased.Add(1)
		f.claimer.await(h)
	}
	return true
}

// add adds a row to the table, unless the row belongs to a lease that was lost while the database
// answered. If the table is full, or the group of the row holds its share, the row takes the place of a row that is due
// later.
func (f *fetcher) add(row backend.Row, reserved bool) (*flight, addition) {
	id, term, valid := f.current()
	if !valid || row.Holder != 0 && row.Holder != id {
		return nil, closed
	}
	h, answer := f.flights.add(row, term, reserved)
	for answer == full && f.claimer.dropLatest(f.flights.kinds.of(row.Key), &row, false) {
		h, answer = f.flights.add(row, term, reserved)
	}
	if answer == sated && f.claimer.dropLatest(f.flights.kinds.of(row.Key), &row, true) {
		h, answer = f.flights.add(row, term, true) // in the place of that row
	}
	return h, answer
}
