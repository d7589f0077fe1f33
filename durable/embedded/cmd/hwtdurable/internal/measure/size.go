package measure

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/embedded"
	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
)

// Size are the settings of a measurement of how much very many timers take.
type Size struct {
	Timers int
	Shards int
	Ops    int // how many are moved, and how many cancelled
}

// keySize is what the keys that size uses take.
const keySize = len("order-0000000")

// Run fills a store in a process of its own, kills that, and measures how long it
// takes to start again; then opens it here and measures what it takes.
func (m Size) Run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "hwtdurable-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := m.fillAndKill(ctx, dir, out); err != nil {
		return err
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	s, err := embedded.Open(ctx, dir, &embedded.Options{Logger: role.Log()})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Refresh(ctx); err != nil {
		return err
	}
	if got := s.Stats().Pending; got != int64(m.Timers) {
		return fmt.Errorf("%d timers are pending (expected: %d)", got, m.Timers)
	}
	fmt.Fprintf(out, "started again after a clean stop, and counted all: %v\n", time.Since(began).Round(10*time.Millisecond))
	time.Sleep(15 * time.Second) // caches of what was read go
	runtime.GC()                 // pools keep what they have over one
	runtime.GC()
	runtime.ReadMemStats(&after)
	fmt.Fprintf(out, "heap: %d B a timer, of which the key is %d\n", int(after.HeapAlloc-before.HeapAlloc)/m.Timers, keySize)
	return m.operate(ctx, s, out)
}

func (m Size) key(i int) string { return fmt.Sprintf("order-%07d", i) }

// fillAndKill fills a store, measures the disk, kills the process and starts it
// again.
func (m Size) fillAndKill(ctx context.Context, dir string, out io.Writer) error {
	address, err := role.FreeAddresses(1)
	if err != nil {
		return err
	}
	node := role.Config{Node: &role.Node{Dir: dir, Listen: address[0], Store: role.Store{Shards: m.Shards}}}
	p, url, err := node.Start()
	if err != nil {
		return err
	}
	defer p.Kill()
	s, conn, err := role.Connect(ctx, []string{url}, role.Store{})
	if err != nil {
		return err
	}
	defer conn.Close()
	defer s.Close()
	began := time.Now()
	first := began.Add(2 * time.Hour)
	n, err := s.SetMany(ctx, func(yield func(durable.Timer) bool) {
		for i := range m.Timers {
			if !yield(durable.Timer{Key: m.key(i), Due: first.Add(time.Duration(i*7919%m.Timers) * time.Millisecond)}) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "set %d timers over %d shards: %.0f/s\n", n, s.Shards(), float64(n)/time.Since(began).Seconds())
	time.Sleep(5 * time.Second) // blocks are compressed when they are full
	fmt.Fprintf(out, "disk: %d B a timer, of which the key is %d\n", int(diskUse(dir))/m.Timers, keySize)
	p.Kill()
	began = time.Now()
	if p, _, err = node.Start(); err != nil {
		return err
	}
	fmt.Fprintf(out, "started again after SIGKILL: %v\n", time.Since(began).Round(10*time.Millisecond))
	if err := p.Stop(time.Minute); err != nil {
		return err
	}
	fmt.Fprintf(out, "disk after a clean stop: %d B a timer\n", int(diskUse(dir))/m.Timers)
	return nil
}

// operate measures the operations, one after another, on some of the timers.
func (m Size) operate(ctx context.Context, s *embedded.Store, out io.Writer) error {
	step := max(m.Timers/m.Ops, 1)
	day := time.Now().Add(24 * time.Hour)
	for _, o := range []struct {
		name string
		do   func(key string) error
	}{
		{"get", func(key string) error { _, err := s.Get(ctx, key); return err }},
		{"move", func(key string) error { _, err := s.Move(ctx, key, day); return err }},
		{"cancel", func(key string) error { _, err := s.Cancel(ctx, key); return err }},
		{"set", func(key string) error { _, err := s.Set(ctx, key, day, nil); return err }},
	} {
		began, n := time.Now(), 0
		for i := 0; i < m.Timers && n < m.Ops; i += step {
			if err := o.do(m.key(i)); err != nil {
				return err
			}
			n++
		}
		fmt.Fprintf(out, "%s, one after another: %.0f/s\n", o.name, float64(n)/time.Since(began).Seconds())
	}
	return nil
}

// diskUse returns the size of the files in dir.
func diskUse(dir string) (n int64) {
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
