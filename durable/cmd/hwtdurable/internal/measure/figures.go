package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// Figures measures a table of the README, or with Kinds that of docs/queues.md: medians of several rounds.
type Figures struct {
	Rounds  int
	Entries int           // pending, and due in one second; with Kinds, of a kind without a handler
	For     time.Duration // of each measurement of a round
	Kinds   bool          // measure kinds, groups, and dead letters

	dir    string
	places int
	cells  map[string][]float64 // by row and column
}

// column is a database with its settings.
type column struct {
	name   string
	normal bool           // see place.Place
	server *pgtest.Server // of PostgreSQL
}

// PostgreSQL has a third column where it is installed.
var columns = []column{{name: "SQLite"}, {name: "SQLite, `SyncEvery` 100 ms", normal: true}}

// row is a row of a table, with the format of its cells.
type row struct{ name, format string }

// rows are the rows of the README.
var rows = []row{
	{"lateness at 1,000/s, p99", "%.1f ms"},
	{"lateness at 5,000/s, p99", "%.1f ms"},
	{"lateness at 1,000/s with four workers, p99", "%.1f ms"},
	{"lateness at 5,000/s with four workers, p99", "%.1f ms"},
	{"CPU at 5,000/s, set and fired", "%.0f %%"},
	{"commit of a Set, due now, to handler, p50", "%.2f ms"},
	{"commit of a Set, due now, to handler, p99", "%.2f ms"},
	{"Set by 64 goroutines", "%.0f/s"},
	{"Move by 64 goroutines", "%.0f/s"},
	{"Cancel by 64 goroutines", "%.0f/s"},
	{"`SetMany`", "%.0f/s"},
	{"pending: disk per entry with a key of 14 bytes", "%.0f B"},
	{"pending: heap", "%.1f MB"},
	{"pending: Open and a Get after SIGKILL", "%.0f ms"},
	{"due in one second: until all have fired", "%.0f s"},
	{"due in one second: heap", "%.0f MB"},
}

// Run measures and prints the table in Markdown.
func (f *Figures) Run(ctx context.Context, out, log io.Writer) (err error) {
	if f.dir, err = os.MkdirTemp("", "hwtdurable-"); err != nil {
		return err
	}
	defer os.RemoveAll(f.dir)
	f.cells = make(map[string][]float64)
	all := columns
	if f.Kinds {
		all = columns[:1:1]
	}
	server, err := pgtest.Start(ctx, &pgtest.Options{Settings: Settings})
	if err == nil {
		defer server.Close()
		all = append(all, column{name: "PostgreSQL", server: server})
	} else if !errors.Is(err, pgtest.ErrNotInstalled) {
		return err
	}
	if f.Kinds {
		for _, c := range all {
			if err := f.kinds(ctx, c, log); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		return f.print(out, all, kindRows)
	}
	for _, c := range all {
		if err := f.sizes(ctx, c); err != nil {
			return err
		}
		fmt.Fprintln(log, "sizes:", c.name)
	}
	for round := range f.Rounds {
		for _, c := range all {
			if err := f.times(ctx, c); err != nil {
				return err
			}
		}
		fmt.Fprintln(log, "round", round+1)
	}
	return f.print(out, all, rows)
}

// note adds a value to a cell.
func (f *Figures) note(row string, c column, value float64) {
	f.cells[row+c.name] = append(f.cells[row+c.name], value)
}

func (f *Figures) print(out io.Writer, all []column, rows []row) error {
	english := message.NewPrinter(language.English) // commas between the thousands
	english.Fprintf(out, "| medians of %d rounds, %d entries |", f.Rounds, f.Entries)
	for _, c := range all {
		fmt.Fprintf(out, " %s |", c.name)
	}
	fmt.Fprintf(out, "\n|---|%s\n", strings.Repeat("--:|", len(all)))
	for _, r := range rows {
		fmt.Fprintf(out, "| %s |", r.name)
		for _, c := range all {
			text := ""
			if values := f.cells[r.name+c.name]; len(values) > 0 {
				slices.Sort(values)
				text = english.Sprintf(r.format, values[len(values)/2])
			}
			fmt.Fprintf(out, " %s |", text)
		}
		fmt.Fprintln(out)
	}
	return nil
}

// fresh calls use with an empty store's place, and removes the store.
func (f *Figures) fresh(ctx context.Context, c column, use func(p place.Place) error) error {
	f.places++
	name := fmt.Sprintf("figures%d", f.places)
	if c.server == nil {
		dir := filepath.Join(f.dir, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		return use(place.Place{File: filepath.Join(dir, "store.db"), Normal: c.normal})
	}
	err := use(place.Place{URL: c.server.URL("postgres"), Schema: name})
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, c.server.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "DROP SCHEMA "+name+" CASCADE")
	return err
}

// sizes measures what takes long, once: a filled store, and its calls, and a burst.
func (f *Figures) sizes(ctx context.Context, c column) error {
	m := size{entries: f.Entries, span: f.For / 4, rounds: f.Rounds}
	if c.normal {
		m.entries /= 4
	}
	err := f.fresh(ctx, c, func(p place.Place) error {
		m.place = p
		s, err := m.fill(ctx, c.server)
		if err != nil {
			return err
		}
		defer s.Close()
		f.note("`SetMany`", c, s.setMany)
		if !c.normal {
			f.note("pending: disk per entry with a key of 14 bytes", c, float64(s.disk))
			f.note("pending: heap", c, s.heap)
			f.note("pending: Open and a Get after SIGKILL", c, milliseconds(s.open))
		}
		for round := range f.Rounds {
			for _, o := range operations(ctx, s.Store) {
				rate, err := m.calls(round*m.entries/f.Rounds, o)
				if err != nil {
					return err
				}
				f.note(o.name+" by 64 goroutines", c, rate)
			}
		}
		return nil
	})
	if err != nil || c.normal {
		return err
	}
	within := time.Duration(1.2 * float64(f.Entries) / f.cells["`SetMany`"+c.name][0] * float64(time.Second))
	r, err := f.lateness(ctx, c, Lateness{Workers: 1, many: f.Entries, within: within})
	if err == nil {
		f.note("due in one second: until all have fired", c, r.took.Seconds())
		f.note("due in one second: heap", c, r.heap)
	}
	return err
}

func (f *Figures) lateness(ctx context.Context, c column, m Lateness) (r *recorder, err error) {
	err = f.fresh(ctx, c, func(p place.Place) error {
		m.Place, m.For, m.server = p, f.For, c.server
		r, err = m.measure(ctx)
		return err
	})
	if err == nil && r.early > 0 && r.lead > 5*time.Millisecond {
		err = fmt.Errorf("%s: %d entries fired early, by up to %v", c.name, r.early, r.lead)
	}
	return r, err
}

// times measures lateness once.
func (f *Figures) times(ctx context.Context, c column) error {
	r, err := f.lateness(ctx, c, Lateness{Workers: 1, tx: true})
	if err != nil {
		return err
	}
	f.note("commit of a Set, due now, to handler, p50", c, milliseconds(percentile(r.late, 0.5)))
	f.note("commit of a Set, due now, to handler, p99", c, milliseconds(percentile(r.late, 0.99)))
	for _, run := range []struct {
		rate, workers int
		name          string
	}{
		{1000, 1, "lateness at 1,000/s, p99"},
		{5000, 1, "lateness at 5,000/s, p99"},
		{1000, 4, "lateness at 1,000/s with four workers, p99"},
		{5000, 4, "lateness at 5,000/s with four workers, p99"},
	} {
		if c.normal || run.workers > 1 && c.server == nil {
			continue
		}
		r, err := f.lateness(ctx, c, Lateness{Workers: run.workers, Rate: run.rate})
		if err != nil {
			return err
		}
		f.note(run.name, c, milliseconds(percentile(r.late, 0.99)))
		if run.rate == 5000 && run.workers == 1 {
			f.note("CPU at 5,000/s, set and fired", c, r.cpu)
		}
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
