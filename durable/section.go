package durable

import (
	"context"
	"fmt"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/inspect"
)

// Section returns the store's part of the live page of package inspect:
//
//	mux.Handle("/debug/hwt/", inspect.Handler(&inspect.Options{
//		Sections: []inspect.Section{store.Section()},
//	}))
//
// It shows [Stats] and the number of entries due in the next second, minute, hour, and
// day. An open page costs the database one reading of the sizes every two seconds. Counts
// by due time stop at 100,000.
func (s *Store) Section() inspect.Section {
	return inspect.NewSection("Durable timers: "+s.Name(), s.blocks)
}

// blocks reads the section.
func (s *Store) blocks(ctx context.Context) ([]inspect.Block, error) {
	sizes := s.sizes.read(ctx, s)
	st := s.stats(sizes)
	return []inspect.Block{sizesBlock(st), dueBlock(sizes.Stats), doneBlock(st)}, sizes.err
}

// badBacklog is the age of the backlog from which on it is shown as a fault.
const badBacklog = time.Second

func sizesBlock(st Stats) inspect.Block {
	figures := []inspect.Figure{
		{Name: "pending", Value: st.Pending},
		{Name: "claimed", Value: st.Claimed},
		{Name: "dead letters", Value: st.Dead, Bad: st.Dead > 0},
		{Name: "age of the backlog", Value: st.Overdue, Bad: st.Overdue > badBacklog},
		{Name: "disk", Value: megabytes(st.Bytes)},
		{Name: "disk limit", Value: "none"},
		{Name: "clock offset", Value: st.ClockOffset},
		{Name: "clock error, at most", Value: st.ClockError},
	}
	if st.Limit != 0 {
		figures[5].Value = megabytes(st.Limit)
	}
	if st.Time.IsZero() {
		for i := range figures {
			figures[i] = inspect.Figure{Name: figures[i].Name}
		}
	}
	return inspect.Block{Title: "Stored", Figures: figures}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// dueBlock shows the pending entries by due time, each range without the ones before it.
func dueBlock(sizes backend.Stats) inspect.Block {
	b := inspect.Block{Title: "Due"}
	before := int64(0)
	for i, n := range sizes.Due {
		b.Bars = append(b.Bars, inspect.Figure{Name: dueRanges[i].name, Value: max(0, n-before)})
		before = n
		if n >= backend.CountLimit {
			b.Title = fmt.Sprintf("Due, the first %d", backend.CountLimit)
			return b
		}
	}
	if len(sizes.Due) > 0 {
		b.Bars = append(b.Bars, inspect.Figure{Name: "later", Value: max(0, sizes.Pending-before)})
	}
	return b
}

func doneBlock(st Stats) inspect.Block {
	return inspect.Block{Title: "This process", Figures: []inspect.Figure{
		{Name: "set", Value: st.Set},
		{Name: "moved", Value: st.Moved},
		{Name: "cancelled", Value: st.Cancelled},
		{Name: "fired", Value: st.Fired},
		{Name: "lateness, p50", Value: st.Lateness.Quantile(0.5)},
		{Name: "lateness, p99", Value: st.Lateness.Quantile(0.99)},
		{Name: "retried", Value: st.Retried},
		{Name: "given up", Value: st.GivenUp, Bad: st.GivenUp > 0},
		{Name: "claims overtaken", Value: st.Overtaken},
		{Name: "firings fenced", Value: st.Fenced},
		{Name: "taken over", Value: st.Adopted},
	}}
}
