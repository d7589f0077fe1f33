package measure

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// size measures a store with very many pending entries.
type size struct {
	place   place.Place
	entries int
	span    time.Duration // of each operation
	rounds  int           // of calls, each on other entries; fewer than 4 count as 4
}

func key(i int) string { return fmt.Sprintf("order-%08d", i) }

// entries are those from one number up to another.
func entries(from, to int, due func(i int) time.Time) iter.Seq[durable.Entry] {
	return func(yield func(durable.Entry) bool) {
		for i := from; i < to && yield(durable.Entry{Key: key(i), Due: due(i)}); i++ {
		}
	}
}

// Filling is the configuration of the role that fills a store.
type Filling struct {
	Place   place.Place
	Entries int
}

// Fill fills a store, and waits until its parent ends it.
func Fill(f Filling) error {
	ctx := context.Background()
	s, err := f.Place.Open(ctx, false)
	if err != nil {
		return err
	}
	defer s.Close()
	first := time.Now().Add(24 * time.Hour)
	if _, err := s.SetMany(ctx, entries(0, f.Entries, func(i int) time.Time {
		return first.Add(time.Duration(i*7919%f.Entries) * time.Millisecond)
	})); err != nil {
		return err
	}
	proc.Ready()
	<-proc.ParentEnded()
	return nil
}

// filled are the sizes of a store that was filled in another process, which was killed.
type filled struct {
	*place.Store
	setMany float64       // per second
	open    time.Duration // with the first Get
	heap    float64       // MB
	disk    int64         // bytes per entry
}

// fill fills the store, kills the process that did and the server, and opens the store.
func (m size) fill(ctx context.Context, server *pgtest.Server) (f filled, err error) {
	began := time.Now()
	p, err := proc.Start(ctx, "fill", Filling{m.place, m.entries})
	if err != nil {
		return f, err
	}
	f.setMany = float64(m.entries) / time.Since(began).Seconds()
	p.Kill()
	if server != nil {
		server.Kill()
		if err := server.Restart(ctx); err != nil {
			return f, err
		}
	}
	before := heapInUse()
	began = time.Now()
	if f.Store, err = m.place.Open(ctx, true); err != nil {
		return f, err
	}
	if _, err := f.Get(ctx, key(m.entries/2)); err != nil {
		return f, errors.Join(err, f.Close())
	}
	f.open = time.Since(began)
	f.heap = max(0, float64(heapInUse())-float64(before)) / 1e6
	st, err := f.Backend().Stats(ctx, nil)
	if err != nil {
		return f, errors.Join(err, f.Close())
	}
	f.disk = st.Bytes / int64(m.entries)
	return f, nil
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// watchHeap samples the heap until ctx ends or the result is called, which returns the
// largest sample in MB.
func watchHeap(ctx context.Context) func() float64 {
	ctx, end := context.WithCancel(ctx)
	var most atomic.Uint64
	var task sync.WaitGroup
	task.Go(func() {
		for proc.Sleep(ctx, 200*time.Millisecond) {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapAlloc))
		}
	})
	return func() float64 { end(); task.Wait(); return float64(most.Load()) / 1e6 }
}

// operation is a call with one key.
type operation struct {
	name  string
	fresh bool // it takes keys without an entry
	do    func(key string) error
}

func operations(ctx context.Context, s *place.Store) []operation {
	day := time.Now().Add(48 * time.Hour)
	return []operation{
		{"Set", true, func(key string) error { _, err := s.Set(ctx, durable.Entry{Key: key, Due: day}); return err }},
		{"Move", false, func(key string) error { _, err := s.Move(ctx, key, day); return err }},
		{"Cancel", false, func(key string) error { _, err := s.Cancel(ctx, key); return err }},
	}
}

// calls returns the rate of an operation by 64 callers on different keys, those of a round at
// most, from one on.
func (m size) calls(from int, o operation) (float64, error) {
	const callers = 64
	if o.fresh {
		from += m.entries
	}
	var next, done atomic.Int64
	var all sync.WaitGroup
	errs := make(chan error, callers)
	began := time.Now()
	for range callers {
		all.Go(func() {
			for time.Since(began) < m.span {
				i := int(next.Add(1))
				if i > m.entries/max(4, m.rounds) {
					return
				}
				if err := o.do(key(from + i - 1)); err != nil {
					errs <- err
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	rate := float64(done.Load()) / time.Since(began).Seconds()
	select {
	case err := <-errs:
		return 0, err
	default:
		return rate, nil
	}
}
