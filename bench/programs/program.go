package main

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// program is a load, and the ways in which a program carries it.
type program struct {
	name, title, text string
	remark            string // below the table: why it is so
	unit              string // what CPU time is divided by
	sides             []side // ours last
}

// side is one way. run divides the load by scale.
type side struct {
	name string
	run  func(scale int) sample
	base bool // the load alone, without a timeout
}

// sample is what one process measured. Zero values were not measured.
type sample struct {
	CPU     float64 // for each unit, in µs
	HeapMB  float64 // at the height of the load
	LateP50 float64 // in ms
	LateP99 float64
	LateMax float64
}

var programs = []program{burst, heartbeats100k, heartbeats1m, connections, sessions, requests, requestsWaited}

// newTimer returns the wheel of our sides.
func newTimer(tick time.Duration) *hashedwheel.Timer {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: tick})
	must(err)
	return timer
}

var _ hwt.Engine = (*hashedwheel.Timer)(nil)

func must(err error) {
	if err != nil {
		panic(err) // ends the process, and the parent reports it
	}
}

// cpuOf returns the CPU time of the process for each of n units of f, in µs, with
// what is still to do in the background.
func cpuOf(n int, f func()) float64 {
	runtime.GC()
	before := proc.Now()
	f()
	time.Sleep(20 * time.Millisecond)
	return float64(proc.Now().Sub(before).CPU) / 1e3 / float64(n)
}

// heapMB returns what is on the heap after a garbage collection.
func heapMB() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}

// span is how long a paced load runs.
const span = 2 * time.Second

// paced calls f with 0, 1, 2 and so on, so many times a second, for span.
func paced(rate int, span time.Duration, f func(i int)) (done int) {
	const step = 5 * time.Millisecond // a shorter one would cost more than some loads
	began := time.Now()
	for now := time.Duration(0); now < span; now = time.Since(began) {
		for due := int(now.Seconds() * float64(rate)); done < due; done++ {
			f(done)
		}
		time.Sleep(step)
	}
	return done
}

// lateness sums up how late things were.
func (s *sample) lateness(late []time.Duration) {
	if len(late) == 0 {
		return
	}
	slices.Sort(late)
	at := func(share float64) float64 { return float64(late[int(share*float64(len(late)-1))]) / 1e6 }
	s.LateP50, s.LateP99, s.LateMax = at(0.5), at(0.99), at(1)
}

// shards is a map for many goroutines: 64 Go maps, each with a mutex.
type shards[V any] [64]struct {
	mu sync.Mutex
	m  map[uint64]V
	_  [64]byte
}

func newShards[V any]() *shards[V] {
	s := new(shards[V])
	for i := range s {
		s[i].m = map[uint64]V{}
	}
	return s
}

func (s *shards[V]) set(key uint64, value V) {
	shard := &s[key%64]
	shard.mu.Lock()
	shard.m[key] = value
	shard.mu.Unlock()
}

func (s *shards[V]) get(key uint64) (V, bool) {
	shard := &s[key%64]
	shard.mu.Lock()
	value, ok := shard.m[key]
	shard.mu.Unlock()
	return value, ok
}
