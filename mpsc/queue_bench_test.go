package mpsc_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/Workiva/go-datastructures/queue"

	"github.com/hashedwheel/hwt/internal/cli"
	"github.com/hashedwheel/hwt/mpsc"
)

// One iteration of BenchmarkPushPop is a whole exchange: producers push a total of
// batch elements while a consumer goroutine takes them. ns/elem is the elapsed time
// per element. cpu-ns/elem is the CPU time of all processors per element, including
// busy waiting.
//
//	go test -run '^$' -bench . -count 10 ./mpsc | benchstat -col /queue -
//
// The channel and the ring have room for a batch, because the queue is unbounded. If
// the queue is empty, the consumers of queue=mpsc and queue=ring yield the processor
// and poll again, as Workiva's Get does. The consumers of queue=channel and
// queue=mpsc-parking sleep.
const batch = 1 << 13

// carrier is the queue between the producers and the consumer of a benchmark.
type carrier interface {
	put(*parcel)
	get() *parcel
}

// parcel fills a cache line, so that neighbors do not share one.
type parcel struct {
	next  mpsc.Link[parcel]
	value int
	_     [48]byte
}

func linkOfParcel(p *parcel) *mpsc.Link[parcel] { return &p.next }

type yielding struct{ *mpsc.Queue[parcel] }

func (q yielding) put(p *parcel) { q.Push(p) }

func (q yielding) get() *parcel {
	for {
		if p := q.Pop(); p != nil {
			return p
		}
		runtime.Gosched()
	}
}

type parking struct {
	*mpsc.Queue[parcel]
	asleep atomic.Bool
	wake   chan struct{}
}

func (q *parking) put(p *parcel) {
	q.Push(p)
	if q.asleep.Load() && q.asleep.CompareAndSwap(true, false) {
		q.wake <- struct{}{}
	}
}

func (q *parking) get() *parcel {
	for {
		if p := q.Pop(); p != nil {
			return p
		}
		q.asleep.Store(true)
		if q.Empty() || !q.asleep.CompareAndSwap(true, false) {
			<-q.wake
		}
	}
}

type channel chan *parcel

func (c channel) put(p *parcel) { c <- p }
func (c channel) get() *parcel  { return <-c }

type ring struct{ *queue.RingBuffer }

func (r ring) put(p *parcel) { _ = r.Put(p) }

func (r ring) get() *parcel {
	p, _ := r.Get()
	return p.(*parcel)
}

var carriers = []struct {
	name string
	make func() carrier
}{
	{"mpsc", func() carrier { return yielding{queueOf(linkOfParcel)} }},
	{"mpsc-parking", func() carrier {
		return &parking{Queue: queueOf(linkOfParcel), wake: make(chan struct{}, 1)}
	}},
	{"channel", func() carrier { return make(channel, batch) }},
	{"ring", func() carrier { return ring{queue.NewRingBuffer(batch)} }},
}

func BenchmarkPushPop(b *testing.B) {
	for _, c := range carriers {
		for _, producers := range []int{1, 2} {
			b.Run(fmt.Sprintf("queue=%s/producers=%d", c.name, producers), func(b *testing.B) {
				benchmarkPushPop(b, c.make(), producers)
			})
		}
	}
}

func benchmarkPushPop(b *testing.B, c carrier, producers int) {
	parcels := make([]parcel, batch)
	for i := range parcels {
		parcels[i].value = i
	}
	b.ReportAllocs()
	runtime.GC()
	before, _ := cli.CPUTime()
	for b.Loop() {
		if sum := exchange(c, parcels, producers); sum != batch*(batch-1)/2 {
			b.Fatalf("the consumer's values add up to %d", sum)
		}
	}
	after, _ := cli.CPUTime()
	elements := float64(b.N) * batch
	b.ReportMetric(float64(b.Elapsed())/elements, "ns/elem")
	b.ReportMetric(float64(after-before)/elements, "cpu-ns/elem")
	b.ReportMetric(elements/b.Elapsed().Seconds()/1e6, "Melem/s")
}

// exchange sends all parcels through c and returns the sum of their values.
func exchange(c carrier, parcels []parcel, producers int) (sum int) {
	var all sync.WaitGroup
	all.Go(func() {
		for range parcels {
			sum += c.get().value
		}
	})
	share := len(parcels) / producers
	for i := range producers {
		all.Go(func() {
			mine := parcels[i*share : (i+1)*share]
			for j := range mine {
				c.put(&mine[j])
			}
		})
	}
	all.Wait()
	return sum
}

// BenchmarkBacklog measures a consumer that polls rarely: a whole batch is in the
// queue when it begins.
func BenchmarkBacklog(b *testing.B) {
	parcels := make([]parcel, batch)
	for _, c := range carriers {
		b.Run("queue="+c.name, func(b *testing.B) {
			q := c.make()
			b.ReportAllocs()
			for b.Loop() {
				for i := range parcels {
					q.put(&parcels[i])
				}
				for range parcels {
					q.get()
				}
			}
			b.ReportMetric(float64(b.Elapsed())/(float64(b.N)*batch), "ns/elem")
		})
	}
}

// BenchmarkUncontended is the floor: one goroutine does both.
func BenchmarkUncontended(b *testing.B) {
	for _, c := range carriers {
		b.Run("queue="+c.name, func(b *testing.B) {
			q, p := c.make(), new(parcel)
			b.ReportAllocs()
			for b.Loop() {
				q.put(p)
				q.get()
			}
		})
	}
}
