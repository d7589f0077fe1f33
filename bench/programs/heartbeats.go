package main

import (
	"math/rand/v2"
	"time"

	"github.com/zeromicro/go-zero/core/collection"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/keyed"
)

const silence = time.Minute // until a device is offline

// presence holds the devices' timeouts.
type presence interface {
	connect(id uint64)
	heartbeat(id uint64)
}

var (
	heartbeats100k = heartbeats("heartbeats-100k", "100,000 heartbeats", 100_000, beatSide("go-zero TimingWheel", 100_000, newGoZero))
	heartbeats1m   = heartbeats("heartbeats-1m", "1,000,000 heartbeats", 1_000_000)
)

// heartbeats returns a program with further sides behind the first one.
func heartbeats(name, title string, n int, further ...side) program {
	sides := append([]side{beatSide("map alone, no timeouts", n, newAlone)}, further...)
	sides = append(sides, beatSide("map and *time.Timer", n, newStandard), beatSide("`keyed`", n, newKeyed),
		beatSide("map and `hwt.Timeout`", n, newBare))
	return program{
		name: name, title: title + " by device ID", sides: sides,
		remark: "Much of the time goes to finding the device in a large map, and its timeout, because\n" +
			"neither is in the processor's caches. `keyed` saves code, not CPU, and takes no more memory\n" +
			"than a map of timeouts. If you have the map already, keep the `hwt.Timeout` in it, or better in the connection's own data.",
		text: `A device is offline after a minute of silence. Each device sends a heartbeat every
five seconds, in random order. The map is 64 Go maps with a mutex each.`,
	}
}

func beatSide(name string, n int, make func() presence) side {
	return side{name, func(scale int) sample { return runHeartbeats(n/scale, make) }}
}

func runHeartbeats(n int, make func() presence) (s sample) {
	ids := newIDs(n)
	base := heapMB()
	p := make()
	for _, id := range ids {
		p.connect(id)
	}
	time.Sleep(100 * time.Millisecond)
	s.HeapMB = heapMB() - base
	done := 0
	r := rand.New(rand.NewPCG(5, 6))
	total := cpuOf(1, func() {
		done = paced(n/5, span, func(int) { p.heartbeat(ids[r.IntN(n)]) })
	})
	s.CPU = total / float64(done)
	return s
}

func newIDs(n int) []uint64 {
	r := rand.New(rand.NewPCG(3, 4))
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = r.Uint64()
	}
	return ids
}

func offline() {}

// alone is the part that all sides share.
type alone struct{ devices *shards[*int] }

func newAlone() presence { return alone{newShards[*int]()} }

func (a alone) connect(id uint64)   { a.devices.set(id, new(int)) }
func (a alone) heartbeat(id uint64) { a.devices.get(id) }

type standard struct{ timers *shards[*time.Timer] }

func newStandard() presence { return standard{newShards[*time.Timer]()} }

func (s standard) connect(id uint64) { s.timers.set(id, time.AfterFunc(silence, offline)) }

func (s standard) heartbeat(id uint64) {
	if timer, ok := s.timers.get(id); ok {
		timer.Reset(silence)
	}
}

type bare struct {
	timer    hwt.Engine
	timeouts *shards[hwt.Timeout]
}

func newBare() presence { return bare{newTimer(100 * time.Millisecond), newShards[hwt.Timeout]()} }

func (b bare) connect(id uint64) {
	timeout, err := b.timer.AfterFunc(silence, offline)
	must(err)
	b.timeouts.set(id, timeout)
}

func (b bare) heartbeat(id uint64) {
	if timeout, ok := b.timeouts.get(id); ok {
		timeout.Reset(silence)
	}
}

type byKey struct {
	wheel *keyed.Wheel[uint64, struct{}]
}

func newKeyed() presence {
	wheel, err := keyed.New(newTimer(100*time.Millisecond), func(uint64, struct{}) { offline() }, nil)
	must(err)
	return byKey{wheel}
}

func (k byKey) connect(id uint64) { must(k.wheel.Set(id, struct{}{}, silence)) }

func (k byKey) heartbeat(id uint64) {
	_, err := k.wheel.Move(id, silence)
	must(err)
}

type goZero struct{ wheel *collection.TimingWheel }

func newGoZero() presence {
	wheel, err := collection.NewTimingWheel(100*time.Millisecond, 600, func(any, any) { offline() })
	must(err)
	return goZero{wheel}
}

func (g goZero) connect(id uint64)   { must(g.wheel.SetTimer(id, nil, silence)) }
func (g goZero) heartbeat(id uint64) { must(g.wheel.MoveTimer(id, silence)) }
