package durable

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/inspect"
)

// Section returns the store's part of the live page of package inspect:
//
//	mux.Handle("/debug/hwt/", inspect.Handler(&inspect.Options{
//		Sections: []inspect.Section{store.Section()},
//	}))
//
// It shows the sizes of the store and its shards, as of [Store.Stats], what this Store
// has done, and how many timers are due in the next second, minute, hour and day. Each
// shard has its lag: the age of its last canary where no Work of this Store receives
// them.
//
// The sizes cost nothing beyond what the store asks for anyway. What is due when is
// exact while eight shards or fewer have at most 256 pending and 256 leased timers each,
// and else an estimate from a sample of up to eight shards. A sample is taken while
// somebody looks, every ten seconds at most. It takes up to 64 requests, each of which
// reads no more than 1 MB and one message, and for each of which the server counts the
// timers of a shard: O(n) for n timers there. It ends after two seconds with what was
// read by then, and the pause before the next is twenty times as long as it took. So
// with hundreds of thousands of timers in a shard the estimate is a rough one: the
// title of the block has the number of timers that it is based on.
func (s *Store) Section() inspect.Section { return &storeSection{store: s} }

// storeSection is the Section of a store.
type storeSection struct {
	store *Store

	mu   sync.Mutex
	due  dueLook   // the latest. Guarded by mu.
	next time.Time // when to look again. Guarded by mu.
}

// Title implements inspect.Section.
func (p *storeSection) Title() string { return "Durable timers: " + p.store.Name() }

// Read implements inspect.Section.
func (p *storeSection) Read(ctx context.Context) ([]inspect.Block, error) {
	if p.store.ctx.Err() != nil {
		return nil, ErrClosed
	}
	due, err := p.look(ctx)
	st := p.store.Stats()
	blocks := []inspect.Block{sizesBlock(st, p.store.now()), dueBlock(due), doneBlock(st), shardsBlock(st, p.store.now())}
	return blocks, err
}

// look returns the latest look at what is due when, and makes another if it is time.
func (p *storeSection) look(ctx context.Context) (dueLook, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	start := time.Now()
	if start.Before(p.next) {
		return p.due, nil
	}
	due, err := p.store.look(ctx)
	p.next = time.Now().Add(max(lookEvery, lookShare*time.Since(start)))
	if err != nil {
		p.next = time.Now().Add(lookEvery)
		return p.due, err
	}
	p.due = due
	return due, nil
}

// badLag is the lag from which on it is shown as a fault.
const badLag = time.Second

// sizesBlock shows the store as a whole.
func sizesBlock(st Stats, now time.Time) inspect.Block {
	worst := worstLag(st)
	figures := []inspect.Figure{
		{Name: "pending", Value: st.Pending},
		{Name: "leased", Value: st.Leased},
		{Name: "dead letters", Value: st.Dead, Bad: st.Dead > 0},
		{Name: "disk", Value: megabytes(st.Bytes)},
		{Name: "disk limit", Value: limitOf(st)},
		{Name: "greatest lag", Value: worst, Bad: worst != nil && worst.(time.Duration) > badLag},
		{Name: "clock offset", Value: st.ClockOffset},
		{Name: "clock error, at most", Value: st.ClockError},
		{Name: "measured, ago", Value: ago(st.Time, now)},
	}
	if st.Time.IsZero() {
		for i := range figures {
			figures[i].Value = nil
		}
	}
	return inspect.Block{Title: "Stored", Figures: figures}
}

func limitOf(st Stats) any {
	if st.Limit == 0 {
		return "none"
	}
	return megabytes(st.Limit)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// dueBlock shows when timers are due.
func dueBlock(due dueLook) inspect.Block {
	b := inspect.Block{Title: "Due"}
	if !due.known {
		return b
	}
	if !due.exact {
		b.Title = fmt.Sprintf("Due, estimated from %d timers", due.read)
	}
	for i, n := range due.counts {
		name := "later"
		if i < len(dueLimits) {
			name = dueLimits[i].name
		}
		b.Bars = append(b.Bars, inspect.Figure{Name: name, Value: int64(math.Round(n))})
	}
	return b
}

// doneBlock shows what this Store has done.
func doneBlock(st Stats) inspect.Block {
	return inspect.Block{Title: "This process", Figures: []inspect.Figure{
		{Name: "set", Value: st.Set},
		{Name: "moved", Value: st.Moved},
		{Name: "cancelled", Value: st.Cancelled},
		{Name: "fired", Value: st.Fired},
		{Name: "late, p50", Value: st.Lateness.Quantile(0.5)},
		{Name: "late, p99", Value: st.Lateness.Quantile(0.99)},
		{Name: "tried again", Value: st.Retried},
		{Name: "given up", Value: st.GivenUp, Bad: st.GivenUp > 0},
		{Name: "claims that others won", Value: st.Refused},
		{Name: "leases that ended", Value: st.Fenced},
		{Name: "set free by audits", Value: st.Repaired, Bad: st.Repaired > 0},
	}}
}

// shardsBlock shows each shard.
func shardsBlock(st Stats, now time.Time) inspect.Block {
	t := inspect.Table{Columns: []string{"shard", "pending", "leased", "dead", "disk", "lag", "canary, ago"}}
	for n, shard := range st.Shards {
		row := []any{n, shard.Pending, shard.Leased, shard.Dead, megabytes(shard.Bytes), shardLag(shard), ago(shard.Canary, now)}
		if st.Time.IsZero() {
			row = []any{n, nil, nil, nil, nil, nil, nil}
		}
		t.Rows = append(t.Rows, row)
	}
	return inspect.Block{Title: "Shards", Table: t}
}

// ago returns how long ago a time was, nil if it is zero.
func ago(at, now time.Time) any {
	if at.IsZero() {
		return nil
	}
	return now.Sub(at).Round(time.Millisecond)
}

// shardLag returns the lag of a shard as this Store knows it: by the last canary that
// it received, or by how long the present one has waited if that is more. nil is unknown.
func shardLag(shard ShardStats) any {
	if shard.Overdue < 0 {
		return nil
	}
	return max(shard.Lag, shard.Overdue)
}

// worstLag returns the greatest lag of a shard, nil if none is known.
func worstLag(st Stats) any {
	var worst any
	for _, shard := range st.Shards {
		if lag, known := shardLag(shard).(time.Duration); known && (worst == nil || lag > worst.(time.Duration)) {
			worst = lag
		}
	}
	return worst
}
