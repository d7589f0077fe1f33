package main

import (
	"runtime"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// program is a load with several implementations.
type program struct {
	name, title  string
	text, remark string // Markdown: the load, and an explanation of the ratios
	sides        []side // ours last
}

// side is an implementation. run divides the load by scale.
type side struct {
	name string
	run  func(scale int) sample
}

// sample is the result of one process. Zero means not measured.
type sample struct {
	CPU    float64 // per unit, in µs
	HeapMB float64 // at the height of the load
}

var programs = []program{heartbeats100k, heartbeats1m, sessions, requests, requestsWaited, grpcCalls}

// newTimer returns the wheel of our sides.
func newTimer(tick time.Duration) *hashedwheel.Timer {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: tick})
	must(err)
	return timer
}

func must(err error) {
	if err != nil {
		panic(err) // ends the process, and the parent reports it
	}
}

// cpuOf returns the CPU time of the process per unit of f, in µs, including background work.
func cpuOf(n int, f func()) float64 {
	runtime.GC()
	before := proc.Now()
	f()
	time.Sleep(20 * time.Millisecond)
	return float64(proc.Now().Sub(before).CPU) / 1e3 / float64(n)
}

// heapMB returns the live heap after a garbage collection.
func heapMB() float64 { return float64(proc.Heap()) / 1e6 }

// span is the duration of a paced load.
const span = 2 * time.Second

// paced calls f with 0, 1, 2, and so on, rate times per second, for span.
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
