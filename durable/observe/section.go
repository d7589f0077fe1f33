// Package observe shows durable stores on the live page of package inspect, and exports their
// numbers as metrics. It is apart from package durable because both need an HTTP server's code.
package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/inspect"
)

// Section returns a store's part of the live page of package inspect:
//
//	mux.Handle("/debug/hwt/", inspect.Handler(&inspect.Options{
//		Sections: []inspect.Section{observe.Section(store)},
//	}))
//
// It shows [durable.Stats], the pauses, the limits, and the last runs of up to 100 series. An open page costs the
// database one reading of the sizes every two seconds, and one of the pauses and of the limits per update. It looks for
// series once per ten seconds, in the order of the keys of all entries, for 200 ms at most:
// [durable.Store.Series] finds the others.
func Section(store *durable.Store) inspect.Section {
	series := &seriesReader{}
	return inspect.NewSection("Durable timers: "+store.Name(), func(ctx context.Context) ([]inspect.Block, error) {
		st, err := store.Stats(ctx)
		blocks := []inspect.Block{sizesBlock(st), dueBlock(st), doneBlock(st)}
		if len(st.Kinds) > 0 {
			blocks = append(blocks, kindsBlock(st))
		}
		if st.Errors > 0 {
			blocks = append(blocks, errorBlock(st))
		}
		found, seriesErr := series.read(ctx, store)
		if len(found.Table.Rows) > 0 {
			blocks = append(blocks, found)
		}
		pauses, pausesErr := store.Paused(ctx)
		if len(pauses) > 0 {
			blocks = append(blocks, pausesBlock(pauses))
		}
		limits, limitsErr := store.Limits(ctx)
		if len(limits) > 0 {
			blocks = append(blocks, limitsBlock(limits))
		}
		return blocks, errors.Join(err, seriesErr, pausesErr, limitsErr)
	})
}

// badBacklog is the age of the backlog from which on it is shown as a fault.
const badBacklog = time.Second

func sizesBlock(st durable.Stats) inspect.Block {
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
func dueBlock(st durable.Stats) inspect.Block {
	b := inspect.Block{Title: "Due"}
	before := int64(0)
	for _, due := range st.Due {
		b.Bars = append(b.Bars, inspect.Figure{Name: within(due.Within), Value: max(0, due.Entries-before)})
		if before = due.Entries; before >= durable.CountLimit {
			b.Title = fmt.Sprintf("Due, the first %d", durable.CountLimit)
			return b
		}
	}
	if len(st.Due) > 0 {
		b.Bars = append(b.Bars, inspect.Figure{Name: "later", Value: max(0, st.Pending-before)})
	}
	return b
}

func within(d time.Duration) string {
	switch d {
	case 0:
		return "overdue"
	case time.Second:
		return "next second"
	case time.Minute:
		return "next minute"
	case time.Hour:
		return "next hour"
	}
	return "next day"
}

// pausesBlock shows the scope of each pause, with its reason.
func pausesBlock(pauses []durable.Pause) inspect.Block {
	b := inspect.Block{Title: "Paused"}
	for _, p := range pauses {
		b.Figures = append(b.Figures, inspect.Figure{Name: fmt.Sprintf("prefix %q, group %q, by %s", p.Prefix, p.Group, p.By), Value: p.Reason, Bad: true})
	}
	return b
}

// limitsBlock shows each limit, and its use.
func limitsBlock(limits []durable.LimitUse) inspect.Block {
	table := inspect.Table{Columns: []string{"prefix", "group", "running", "per second", "burst", "permits held", "handlers wanted"}}
	for _, l := range limits {
		table.Rows = append(table.Rows, []any{l.Prefix, l.Group, l.Running, l.PerSecond, l.Burst, l.Held, l.Wants})
	}
	return inspect.Block{Title: "Limits", Table: table}
}

func doneBlock(st durable.Stats) inspect.Block {
	return inspect.Block{Title: "This process", Figures: []inspect.Figure{
		{Name: "set", Value: st.Set},
		{Name: "moved", Value: st.Moved},
		{Name: "cancelled", Value: st.Cancelled},
		{Name: "fired", Value: st.Fired},
		{Name: "running handlers", Value: st.Running},
		{Name: "longest running", Value: st.Longest},
		{Name: "waiting for limits", Value: st.Limited},
		{Name: "lateness, p50", Value: st.Lateness.Quantile(0.5)},
		{Name: "lateness, p99", Value: st.Lateness.Quantile(0.99)},
		{Name: "retried", Value: st.Retried},
		{Name: "postponed", Value: st.Postponed},
		{Name: "given up", Value: st.GivenUp, Bad: st.GivenUp > 0},
		{Name: "claims overtaken", Value: st.Overtaken},
		{Name: "firings fenced", Value: st.Fenced},
		{Name: "taken over", Value: st.Adopted},
	}}
}

// badError is the age up to which the last error of the database is shown as a fault.
const badError = time.Minute

func errorBlock(st durable.Stats) inspect.Block {
	age := time.Since(st.LastErrorTime)
	return inspect.Block{Title: "Errors of the database", Figures: []inspect.Figure{
		{Name: "number", Value: st.Errors},
		{Name: "age of the last", Value: age, Bad: age < badError},
		{Name: "last", Value: st.LastError},
	}}
}

// kindsBlock shows the kinds of the store's Mux.
func kindsBlock(st durable.Stats) inspect.Block {
	table := inspect.Table{Columns: []string{"kind", "fired", "running", "longest running", "overtime",
		"lateness, p50", "lateness, p99", "retried", "postponed", "given up"}}
	for _, k := range st.Kinds {
		table.Rows = append(table.Rows, []any{k.Pattern, k.Fired, k.Running, k.Longest, k.Overtime,
			k.Lateness.Quantile(0.5), k.Lateness.Quantile(0.99), k.Retried, k.Postponed, k.GivenUp})
	}
	return inspect.Block{Title: "Kinds, in this process", Table: table}
}
