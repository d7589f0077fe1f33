package engine

import (
	"time"

	"github.com/hashedwheel/hwt/internal/engine/store"
	"github.com/hashedwheel/hwt/mpsc"
)

// TransferCap is the greatest number of new timeouts that the worker transfers to the
// wheel in one tick, as in Netty. The rest waits for the next tick. Timeouts that were
// cancelled before their transfer do not count.
const TransferCap = 100_000

const (
	// popAtLeast is the number of timeouts of each kind that a drain takes from the
	// intake even after its time: the worker must advance with both.
	popAtLeast = 4096

	// maxHold is for how long a round keeps mu, which callers may wait for.
	maxHold = time.Millisecond

	// minTraffic is the number of timeouts, beyond one per fewEvery, that are no traffic.
	minTraffic = 16

	// maxDrainPause is the longest time beyond a tick for which the worker leaves the
	// intake alone. A drain takes a tick, and some milliseconds for popAtLeast. If it
	// seems longer, the process was stopped or the machine slept, and newer timeouts
	// must not wait for as long again.
	maxDrainPause = 10 * time.Millisecond
)

// drainAtTick moves new and changed timeouts from the intake to the wheel, before
// the current tick expires. While ticks remain to be made up, it uses at most half
// of the worker's time: after a drain that took d, the intake is left alone until d
// has passed. Without this limit, callers that push faster than the worker drains
// could delay timeouts that are already due.
func (s *schedule) drainAtTick(now int64) {
	d := &s.draining
	if !d.complete {
		s.deferredTicks.Add(1)
		s.signal.assistFrom.Store(0) // the tick before was too short
	}
	if now/s.timer.tickDur > s.tick && now < d.resumeAt {
		d.complete = s.intake.empty()
		return
	}
	s.drain((s.tick + 1) * s.timer.tickDur)
	end := s.timer.now()
	s.noteEmptied(end)
	d.resumeAt = end + min(end-now, s.timer.tickDur+int64(maxDrainPause))
}

// noteEmptied records that the latest drain emptied the intake, if it did.
func (s *schedule) noteEmptied(now int64) {
	if s.draining.complete {
		s.signal.emptied.Store(now)
	}
}

// drain drains the intake until the given time: at most TransferCap new timeouts, and
// as many changed ones.
func (s *schedule) drain(until int64) {
	d, stripes := &s.draining, s.intake.stripes
	added := budget{room: TransferCap, until: until}
	changed := added // a separate share, or new timeouts could starve it
	for i := range stripes {
		s.drainAdded(&stripes[(d.turn+i)&(len(stripes)-1)], &added)
	}
	for i := range stripes {
		s.drainChanged(&stripes[(d.turn+i)&(len(stripes)-1)], &changed)
	}
	d.turn++
	d.stale = false
	d.complete = !added.spent && !changed.spent || s.intake.empty()
}

// budget bounds the timeouts that a drain takes from one kind of queue.
type budget struct {
	room   int   // timeouts that may still be moved; those that had ended do not count
	until  int64 // when the time is over
	popped int   // timeouts taken
	spent  bool  // there is no room, or no time
}

// allows reports whether one more timeout may be taken.
func (b *budget) allows(timer *setup) bool {
	if b.popped++; b.popped%1024 == 0 && b.popped > popAtLeast && timer.now() >= b.until {
		b.spent = true
	}
	return !b.spent
}

// drainAdded drains the new timeouts of a stripe. It begins with dropping those that have
// ended.
func (s *schedule) drainAdded(from *stripe, b *budget) {
	if from.added.Empty() {
		return
	}
	dead := 0
	from.added.DeleteFunc(func(t *Timeout) bool {
		if !isDead(t) {
			return false
		}
		dead++
		return true
	})
	s.took(from, dead)
	s.timer.released(int64(dead))
	s.drainQueue(from, &from.added, b)
}

// drainChanged drains the timeouts of a stripe that were cancelled, or reset to
// earlier, after they were transferred, and its events.
func (s *schedule) drainChanged(from *stripe, b *budget) { s.drainQueue(from, &from.changed, b) }

// took counts n timeouts that left a queue of a stripe.
func (s *schedule) took(from *stripe, n int) {
	from.drained.Store(from.drained.Load() + int64(n))
	if !s.draining.fired {
		s.draining.arrivals += int64(n)
	}
}

// isDead reports whether a new timeout ended before its transfer, and its task
// wants no notice of it.
func isDead(t *Timeout) bool {
	return t.state.load().HasEnded() && !t.wantsNotice()
}

// drainQueue drains q, a queue of the stripe from, within b.
func (s *schedule) drainQueue(from *stripe, q *mpsc.Queue[Timeout], b *budget) {
	for !b.spent {
		batch := s.batch[:0]
		for len(batch) < min(b.room, batchLen) && b.allows(s.timer) {
			t := q.Pop()
			if t == nil {
				break
			}
			if t.node.IsAt(elsewhere) {
				t.node.Marks = uint16(s.walks.seen) // (A1)
			}
			batch = append(batch, s.moveOf(t, t.state.dequeue()))
		}
		if len(batch) == 0 {
			return
		}
		s.took(from, len(batch))
		b.room -= s.storeBatch(batch)
		if b.room == 0 {
			b.spent = true
		}
	}
}

// busy reports whether there is traffic: since the worker fell asleep, more timeouts came
// through the intake than one per fewEvery, and minTraffic and more besides.
func (d *draining) busy(now, more int64) bool {
	return d.arrivals > (now-d.sleptAt)/int64(fewEvery)+minTraffic+more
}

// skipTo moves the wheel to tick, or to the tick before the next one with work if that is
// earlier. A wheel places timeouts by their distance from its tick. From a tick long past,
// Next could be a tick that is over, as if the worker were late.
func (s *schedule) skipTo(tick int64) {
	if tick > s.tick { // Next takes time
		tick = min(tick, s.wheel.Next()-1)
	}
	if tick > s.tick {
		s.tick, s.earliest = tick, tick+1
		s.wheel.MoveTo(tick)
	}
}

// advance processes a tick: the current one, or an earlier one if something was due then
// and the worker is behind. It appends the due timeouts to due.
func (s *schedule) advance(now int64, due []*store.Node) []*store.Node {
	s.tick = min(now/s.timer.tickDur, max(s.wheel.Next(), s.tick+1))
	s.earliest = s.tick
	s.wheel.MoveTo(s.tick)
	s.drainAtTick(now)
	s.earliest = s.tick + 1
	s.ticks.Add(1)
	return s.collect(due)
}
