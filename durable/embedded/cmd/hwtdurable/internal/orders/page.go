package orders

import (
	"context"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
	"github.com/hashedwheel/hwt/inspect"
)

// page returns the live page: the shop, and the store.
func (r *run) page() http.Handler {
	shop := &shopPage{run: r, ledger: role.NewLedger(filepath.Join(r.dir, "released"))}
	return inspect.Handler(&inspect.Options{Sections: []inspect.Section{
		inspect.NewSection("Shop", shop.read), r.store.Section(),
	}})
}

// shopPage is what the page shows of the shop.
type shopPage struct {
	run *run

	mu       sync.Mutex
	ledger   *role.Ledger // Guarded by mu.
	released int          // Guarded by mu.
	late     [6]int       // how many were that late, by lateLimits. Guarded by mu.
}

// lateLimits are the ends of the ranges of lateness; behind the last is one more.
var lateLimits = []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second}

// read returns what the page shows.
func (p *shopPage) read(context.Context) ([]inspect.Block, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entries, err := p.ledger.Next()
	for _, e := range entries {
		p.released++
		i := 0
		for i < len(lateLimits) && e.At.Sub(e.Due) > lateLimits[i] {
			i++
		}
		p.late[i]++
	}
	placed, paid := p.run.journal.counts()
	late := inspect.Block{Title: "Released so late, kills included"}
	for i, n := range p.late {
		name := "later"
		if i < len(lateLimits) {
			name = "up to " + lateLimits[i].String()
		}
		late.Bars = append(late.Bars, inspect.Figure{Name: name, Value: n})
	}
	return []inspect.Block{{Title: "Orders", Figures: []inspect.Figure{
		{Name: "to place", Value: p.run.plan.Orders},
		{Name: "placed", Value: placed},
		{Name: "paid: checks cancelled", Value: paid},
		{Name: "released: checks fired", Value: p.released},
		{Name: "workers killed", Value: p.run.processes.killedWorkers.Load()},
		{Name: "nodes killed", Value: p.run.processes.killedNodes.Load()},
	}}, late}, err
}
