package orders

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/durable/embedded"
	"github.com/hashedwheel/hwt/durable/embedded/internal/proc"
	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
)

// processes are those of a run: the nodes that keep the store, and the workers.
type processes struct {
	plan    *plan
	dir     string
	nodes   []*proc.Process // Guarded by mu.
	workers []*proc.Process // Guarded by mu.
	mu      sync.Mutex

	killedNodes, killedWorkers atomic.Int64
}

// lead is short, so that a run of a minute sees many leases end.
const lead = 2 * time.Second

func (c *processes) store() role.Store {
	if c.plan.Cluster {
		return role.Store{Lead: lead, Replicas: 3, Shards: 4}
	}
	return role.Store{Lead: lead}
}

func (c *processes) urls() (out []string) {
	for _, address := range c.plan.Listen {
		out = append(out, "nats://"+address)
	}
	return out
}

// node returns the role of a node.
func (c *processes) node(i int) role.Config {
	n := &role.Node{Dir: filepath.Join(c.dir, fmt.Sprintf("node%d", i)), Listen: c.plan.Listen[i], Store: c.store()}
	if c.plan.Cluster {
		n.Cluster = &embedded.Cluster{Name: "orders", Node: nodeName(i), Listen: c.plan.Routes[i],
			Peers: slices.Delete(slices.Clone(c.plan.Routes), i, i+1)}
	}
	return role.Config{Node: n}
}

func nodeName(i int) string { return fmt.Sprintf("n%d", i) }

func (c *processes) worker() role.Config {
	return role.Config{Worker: &role.Worker{URLs: c.urls(), Store: c.store(), Ledger: filepath.Join(c.dir, "released")}}
}

// start starts all processes, and returns when they are ready.
func (c *processes) start(workers int) error {
	c.nodes, c.workers = make([]*proc.Process, len(c.plan.Listen)), make([]*proc.Process, workers)
	if err := c.startAll(c.nodes, c.node); err != nil {
		return err
	}
	return c.startAll(c.workers, func(int) role.Config { return c.worker() })
}

// startAll starts processes at the same time: a node alone is not ready.
func (c *processes) startAll(list []*proc.Process, what func(i int) role.Config) error {
	errs := make(chan error, len(list))
	for i := range list {
		go func() { errs <- c.restart(list, i, what(i)) }()
	}
	var first error
	for range list {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (c *processes) restart(list []*proc.Process, i int, what role.Config) error {
	p, _, err := what.Start()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	list[i] = p
	return nil
}

// killWorkers kills a worker every second or two, and starts it again.
func (c *processes) killWorkers(ctx context.Context) error {
	for pause(ctx, 1200*time.Millisecond, 2400*time.Millisecond) {
		i := rand.IntN(len(c.workers))
		c.kill(c.workers, i)
		c.killedWorkers.Add(1)
		if !pause(ctx, 100*time.Millisecond, 800*time.Millisecond) {
			return nil
		}
		if err := c.restart(c.workers, i, c.worker()); err != nil && ctx.Err() == nil {
			return fmt.Errorf("worker: %w", err)
		}
	}
	return nil
}

// killNodes kills the store's process, or the node that leads, now and then.
func (c *processes) killNodes(ctx context.Context, leader func() int) error {
	least, most := 8*time.Second, 14*time.Second
	if c.plan.Cluster {
		least, most = 16*time.Second, 24*time.Second
	}
	for pause(ctx, least, most) {
		i := leader()
		c.kill(c.nodes, i)
		c.killedNodes.Add(1)
		if err := c.restart(c.nodes, i, c.node(i)); err != nil && ctx.Err() == nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	return nil
}

func (c *processes) kill(list []*proc.Process, i int) {
	c.mu.Lock()
	p := list[i]
	c.mu.Unlock()
	p.Kill()
}

// stop ends all processes in good order.
func (c *processes) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, list := range [][]*proc.Process{c.workers, c.nodes} {
		var all sync.WaitGroup
		for _, p := range list {
			if p != nil {
				all.Go(func() { p.Stop(30 * time.Second) })
			}
		}
		all.Wait()
	}
}

// pause waits for a random time, and reports whether to go on.
func pause(ctx context.Context, least, most time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(least + rand.N(most-least)):
		return true
	}
}
