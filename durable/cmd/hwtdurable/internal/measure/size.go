package measure

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

// Size measures a store with very many pending entries.
type Size struct {
	Place   place.Place
	Server  bool // start a private PostgreSQL server
	Entries int
	Callers int           // concurrent callers of each operation
	For     time.Duration // of each operation
}

const keySize = len("order-00000000")

func key(i int) string { return fmt.Sprintf("order-%08d", i) }

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
	if _, err := s.SetMany(ctx, func(yield func(durable.Entry) bool) {
		for i := range f.Entries {
			if !yield(durable.Entry{Key: key(i), Due: first.Add(time.Duration(i*7919%f.Entries) * time.Millisecond)}) {
				return
			}
		}
	}); err != nil {
		return err
	}
	proc.Ready()
	<-proc.ParentEnded()
	return nil
}

// Run fills a store in another process, kills that, and measures the restart, the disk,
// the heap, and the operations.
func (m Size) Run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "hwtdurable-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, err := m.Place.Temporary(ctx, dir, m.Server, Settings)
	if err != nil {
		return err
	}
	if server != nil {
		defer server.Close()
	}
	began := time.Now()
	p, err := proc.Start("fill", Filling{m.Place, m.Entries})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "SetMany: %.0f/s\n", float64(m.Entries)/time.Since(began).Seconds())
	p.Kill()
	if server != nil {
		server.Kill()
		began = time.Now()
		if err := server.Restart(ctx); err != nil {
			return err
		}
		fmt.Fprintf(out, "restart of the server after SIGKILL: %v\n", time.Since(began).Round(time.Millisecond))
	}
	before := heapInUse()
	began = time.Now()
	s, err := m.Place.Open(ctx, true)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.Get(ctx, key(m.Entries/2)); err != nil {
		return err
	}
	fmt.Fprintf(out, "open and first Get after SIGKILL: %v\n", time.Since(began).Round(100*time.Microsecond))
	fmt.Fprintf(out, "heap: %.1f MB\n", float64(heapInUse()-before)/1e6)
	st := s.Stats()
	fmt.Fprintf(out, "disk: %d B per entry with a key of %d B; %d pending\n", st.Bytes/int64(m.Entries), keySize, st.Pending)
	return m.operate(ctx, s, out)
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
		for sleep(ctx, 200*time.Millisecond) {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapAlloc))
		}
	})
	return func() float64 { end(); task.Wait(); return float64(most.Load()) / 1e6 }
}

// operate measures each operation with concurrent callers, and with one.
func (m Size) operate(ctx context.Context, s *place.Store, out io.Writer) error {
	day := time.Now().Add(48 * time.Hour)
	for _, o := range []struct {
		name string
		do   func(key string) error
	}{
		{"Get", func(key string) error { _, err := s.Get(ctx, key); return err }},
		{"Move", func(key string) error { _, err := s.Move(ctx, key, day); return err }},
		{"Set", func(key string) error { _, err := s.Set(ctx, key, day, nil); return err }},
		{"Cancel", func(key string) error { _, err := s.Cancel(ctx, key); return err }},
	} {
		for _, callers := range []int{m.Callers, 1} {
			rate, err := m.calls(callers, o.do)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%s, %d callers: %.0f/s\n", o.name, callers, rate)
		}
	}
	return nil
}

// calls returns the rate of an operation on different keys.
func (m Size) calls(callers int, do func(key string) error) (float64, error) {
	var next, done atomic.Int64
	var all sync.WaitGroup
	errs := make(chan error, callers)
	began := time.Now()
	for range callers {
		all.Go(func() {
			for time.Since(began) < m.For {
				i := int(next.Add(1))
				if i > m.Entries/4 {
					return
				}
				if callers == 1 {
					i += m.Entries / 2
				}
				if err := do(key(i)); err != nil {
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
