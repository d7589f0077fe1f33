// Package measure has the measurements whose figures stand in the README.
package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/embedded"
	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
	"github.com/hashedwheel/hwt/internal/cli"
)

// Lateness are the settings of a measurement of lateness.
type Lateness struct {
	Rate    int           // timers due a second
	For     time.Duration // for how long
	Cluster bool          // three nodes and three replicas
	Shards  int           // over how many streams
}

// Run fires timers at a rate, in this process, servers included, and prints how
// late they are.
func (m Lateness) Run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "hwtdurable-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	stores, err := m.open(ctx, dir)
	defer func() {
		for _, s := range stores {
			s.Close()
		}
	}()
	if err != nil {
		return err
	}
	return m.fire(ctx, stores[0].Store, out)
}

// open opens one store or three, which are up when a majority is.
func (m Lateness) open(ctx context.Context, dir string) ([]*embedded.Store, error) {
	if !m.Cluster {
		s, err := embedded.Open(ctx, dir, &embedded.Options{
			Store: durable.Options{Shards: m.Shards}, Logger: role.Log()})
		if err != nil {
			return nil, err
		}
		return []*embedded.Store{s}, nil
	}
	const nodes = 3
	routes, err := role.FreeAddresses(nodes)
	if err != nil {
		return nil, err
	}
	stores := make([]*embedded.Store, nodes)
	errs := make([]error, nodes)
	var all sync.WaitGroup
	for i := range nodes {
		all.Go(func() {
			stores[i], errs[i] = embedded.Open(ctx, filepath.Join(dir, fmt.Sprint(i)), &embedded.Options{
				Store: durable.Options{Shards: m.Shards}, Logger: role.Log(),
				Cluster: &embedded.Cluster{Name: "measure", Node: fmt.Sprintf("n%d", i), Listen: routes[i],
					Peers: slices.Delete(slices.Clone(routes), i, i+1)},
			})
		})
	}
	all.Wait()
	stores = slices.DeleteFunc(stores, func(s *embedded.Store) bool { return s == nil })
	return stores, errors.Join(errs...)
}

// fire sets the timers, the last before the first is handed out, and fires them.
func (m Lateness) fire(ctx context.Context, s *durable.Store, out io.Writer) error {
	n := int(float64(m.Rate) * m.For.Seconds())
	late := make([]time.Duration, 0, n)
	early := 0
	var mu sync.Mutex
	work, end := context.WithCancel(ctx)
	defer end()
	done := make(chan error, 1)
	go func() {
		done <- s.Work(work, func(_ context.Context, f durable.Firing) error {
			by := time.Since(f.Due)
			mu.Lock()
			defer mu.Unlock()
			if by < 0 {
				early++
			}
			if late = append(late, by); len(late) == n {
				end()
			}
			return nil
		}, nil)
	}()
	start := time.Now().Add(durable.DefaultLead + 3*time.Second + time.Duration(n)*100*time.Microsecond)
	stored, err := s.SetMany(ctx, func(yield func(durable.Timer) bool) {
		for i := range n {
			due := start.Add(m.For * time.Duration(i) / time.Duration(n))
			if !yield(durable.Timer{Key: fmt.Sprintf("order-%d", i), Due: due}) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	// The processor time of the middle, in which as much is handed out as fires.
	var cpu, wall time.Duration
	time.AfterFunc(time.Until(start.Add(m.For/4)), func() {
		before, _ := cli.CPUTime() // zero where the system has no such figure
		began := time.Now()
		time.Sleep(m.For / 2)
		after, _ := cli.CPUTime()
		mu.Lock()
		defer mu.Unlock()
		cpu, wall = after-before, time.Since(began)
	})
	if err := <-done; err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	claims := s.Stats().Claims
	mu.Lock()
	defer mu.Unlock()
	slices.SortFunc(late, cmp.Compare[time.Duration])
	fmt.Fprintf(out, "nodes %d, shards %d, %d/s for %v: %d of %d fired, %d early; late p50 %v, p99 %v, max %v; claims p50 %v, p99 %v; CPU %.0f %% of a core\n",
		map[bool]int{false: 1, true: 3}[m.Cluster], s.Shards(), m.Rate, m.For, len(late), stored, early,
		late[len(late)/2], late[len(late)*99/100], late[len(late)-1], claims.Quantile(0.5).Round(time.Microsecond), claims.Quantile(0.99).Round(time.Microsecond), 100*cpu.Seconds()/max(wall.Seconds(), 1e-9))
	return nil
}
