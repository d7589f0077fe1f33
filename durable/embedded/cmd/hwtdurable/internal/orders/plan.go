// Package orders is the demo: a shop whose order checks are durable timers, while
// the processes that keep and fire them are killed.
package orders

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
)

// Options are the settings of a run.
type Options struct {
	Orders  int           // how many
	Over    time.Duration // the time over which their checks are due
	Workers int           // processes that fire
	Cluster bool          // three nodes instead of one store process
	Dir     string        // where everything is kept; "" for a temporary directory
	Page    net.Listener  // where the live page is served; nil for none
}

// plan is what is decided before a run, and kept in its directory.
type plan struct {
	Orders  int
	Over    time.Duration
	Cluster bool
	Start   time.Time // when the first check is due
	Seed    uint64
	Listen  []string // of the nodes
	Routes  []string // of the nodes, between them
}

// placing is the time for placing the orders, before the first check is due.
func placing(orders int) time.Duration {
	return 8*time.Second + time.Duration(orders)*100*time.Microsecond
}

// loadPlan reads the plan in dir, or makes one. A plan for other orders is refused.
func loadPlan(dir string, o Options) (*plan, bool, error) {
	path := filepath.Join(dir, "plan.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		p, err := newPlan(o)
		if err != nil {
			return nil, false, err
		}
		return p, false, writeJSON(path, p)
	}
	if err != nil {
		return nil, false, err
	}
	p := new(plan)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, false, fmt.Errorf("%s: %w", path, err)
	}
	if p.Orders != o.Orders || p.Over != o.Over || p.Cluster != o.Cluster {
		return nil, false, fmt.Errorf("%s holds a run of %d orders over %v, cluster %v: start it the same way, or choose another directory",
			dir, p.Orders, p.Over, p.Cluster)
	}
	return p, true, nil
}

func newPlan(o Options) (*plan, error) {
	n := 1
	if o.Cluster {
		n = 3
	}
	free, err := role.FreeAddresses(2 * n)
	if err != nil {
		return nil, err
	}
	return &plan{
		Orders: o.Orders, Over: o.Over, Cluster: o.Cluster,
		Start: time.Now().Add(placing(o.Orders)), Seed: rand.Uint64(),
		Listen: free[:n], Routes: free[n:],
	}, nil
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return err
	}
	draft := path + ".new"
	if err := os.WriteFile(draft, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(draft, path)
}

func (p *plan) key(order int) string { return fmt.Sprintf("order-%06d", order) }

// due returns when the check of an order is due.
func (p *plan) due(order int) time.Time {
	return p.Start.Add(p.Over * time.Duration(order) / time.Duration(p.Orders))
}

// paidShare is how many of a hundred orders are paid.
const paidShare = 60

// payment returns when an order is paid, if it is: mostly well before its check,
// sometimes in the last moment, sometimes too late.
func (p *plan) payment(order int) (time.Time, bool) {
	r := rand.New(rand.NewPCG(p.Seed, uint64(order)))
	if r.IntN(100) >= paidShare {
		return time.Time{}, false
	}
	due := p.due(order)
	if r.IntN(10) == 0 {
		return due.Add(time.Duration(r.Int64N(int64(time.Second))) - 900*time.Millisecond), true
	}
	return p.Start.Add(time.Duration(r.Int64N(int64(due.Sub(p.Start) + time.Second)))), true
}
