package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

var (
	verify = operation{name: "verify", whole: true, do: func(ctx context.Context, s *place.Store, _ []string, p *printer) error {
		if err := s.Verify(ctx); err != nil {
			return err
		}
		entries, letters, err := count(ctx, s)
		if err == nil {
			_, err = fmt.Fprintf(p.out, "%d entries and %d dead letters are intact\n", entries, letters)
		}
		return err
	}}
	backup = operation{name: "backup", whole: true, do: func(ctx context.Context, s *place.Store, args []string, _ *printer) error {
		if s.SQLite == nil {
			return errors.New("backup copies SQLite stores; use pg_dump --schema for PostgreSQL")
		}
		return s.SQLite.Backup(ctx, args[0])
	}}
)

// count reads every entry, claimed ones included, and every dead letter, and so verifies
// their checksums. It returns the errors of all that are damaged.
func count(ctx context.Context, s *place.Store) (entries, letters int, err error) {
	var damaged []error
	for page, err := range backend.Pages(ctx, s.Backend(), "", true) {
		if entries += len(page); err != nil {
			damaged = append(damaged, err)
		}
	}
	for _, err := range s.Dead(ctx, "") {
		if letters++; err != nil {
			damaged = append(damaged, err)
		}
	}
	return entries, letters, errors.Join(damaged...)
}

// runRestore is the command restore.
func runRestore(ctx context.Context, args []string, _, log io.Writer) error {
	flags := newFlags("restore", log)
	to := flags.String("store", "", "the new `file` of the SQLite store. There is no --wait: restore uses no database that others write, "+
		"and fails if the backup stays locked for 5s")
	paused := flags.Bool("paused", false, "pause all entries of the new store, until the command resume --all")
	if err := parse(flags, args, log); err != nil {
		return err
	}
	if *to == "" {
		return wrongUsage(log, "restore", "--store is required; use pg_restore for PostgreSQL")
	}
	if err := sqlite.Restore(ctx, flags.Arg(0), *to); err != nil || !*paused {
		return err
	}
	s, err := sqlite.Open(ctx, *to, &sqlite.Options{Options: durable.Options{Paused: "restore --paused"}, MustExist: true})
	if err != nil {
		return err
	}
	return s.Close()
}

// runMigrate is the command migrate.
func runMigrate(ctx context.Context, args []string, out, log io.Writer) error {
	flags := newFlags("migrate", log)
	var from, to place.Place
	from.Flags(flags)
	flags.StringVar(&to.File, "to-store", "", "the new `file` of an SQLite store")
	flags.StringVar(&to.URL, "to-postgres", "", "the `URL` of a PostgreSQL database")
	flags.StringVar(&to.Schema, "to-schema", "hwt", "the new schema in PostgreSQL")
	paused := flags.Bool("paused", false, "pause all entries of the new store, until the command resume --all")
	var wait time.Duration
	waitFlag(flags, &wait, true)
	if err := parse(flags, args, log); err != nil {
		return err
	}
	if (from.File == "") == (from.URL == "") || (to.File == "") == (to.URL == "") {
		return wrongUsage(log, "migrate", "exactly one of --store and --postgres, and one of --to-store and --to-postgres, are required")
	}
	if from.URL != "" && from.URL == to.URL && from.Schema == to.Schema {
		return wrongUsage(log, "migrate", "the target is the source")
	}
	if to.File != "" {
		if _, err := os.Lstat(to.File); err == nil {
			return fmt.Errorf("%s exists (expected: a new file)", to.File)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	opening, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	source, err := from.Open(opening, true)
	if err != nil {
		return waited(ctx, opening, wait, err)
	}
	defer source.Close()
	target, err := to.Open(opening, false)
	if err = waited(ctx, opening, wait, err); err != nil {
		if _, missing := os.Lstat(to.File); missing == nil {
			err = fmt.Errorf("%w: %s, and repeat the migration", err, removal(to))
		}
		return err
	}
	entries, letters, err := transfer(ctx, source.Backend(), target.Backend(), *paused)
	switch err = errors.Join(err, target.Close()); {
	case errors.Is(err, errNotEmpty):
		return fmt.Errorf("%w: if a failed migration has left it, %s, and repeat the migration", err, removal(to))
	case errors.Is(err, errIncomplete), err != nil && to.File != "":
		return fmt.Errorf("%w: %s, and repeat the migration", err, removal(to))
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(out, "copied %d pending entries and %d dead letters; the source is unchanged\n", entries, letters)
	return err
}

var (
	errNotEmpty   = errors.New("the target is not empty")
	errIncomplete = errors.New("the target is incomplete")
)

// removal returns the instruction that removes a store, and nothing else of its schema.
func removal(p place.Place) string {
	if p.File != "" {
		return fmt.Sprintf("delete the files %s, %[1]s-wal, and %[1]s-shm", p.File)
	}
	return fmt.Sprintf("execute DROP TABLE %[1]s.entry, %[1]s.dead, %[1]s.worker, %[1]s.pause, %[1]s.limits, %[1]s.permit, %[1]s.meta; "+
		"DROP SEQUENCE %[1]s.generation, %[1]s.removal, %[1]s.witness in its database", pgx.Identifier{p.Schema}.Sanitize())
}

// transfer copies all rows and pauses. IDs of firings stay; generations are new.
//
// A detached row is set, claimed, displaced from the main slot of its key, and released at
// the end. Dead letters are set, claimed, and buried, a page at a time.
func transfer(ctx context.Context, source, target backend.Backend, paused bool) (entries, letters int, err error) {
	for name, b := range map[string]backend.Backend{"source": source, "target": target} {
		st, err := b.Stats(ctx, nil)
		switch {
		case err != nil:
			return 0, 0, err
		case name == "source" && st.Claimed > 0:
			return 0, 0, fmt.Errorf("%d entries of the source are claimed: stop its workers, and then run one worker until no entry is claimed", st.Claimed)
		case name == "target" && st.Pending+st.Claimed+st.Dead > 0:
			return 0, 0, errNotEmpty
		}
	}
	c := &copier{source: source, target: target, paused: paused}
	if entries, letters, err = c.copy(ctx); err != nil {
		err = fmt.Errorf("%w\n%w", err, errIncomplete)
	}
	return entries, letters, err
}

// copier copies rows to an empty store.
type copier struct {
	source, target backend.Backend
	worker         int64             // of the target
	detached       []backend.Outcome // to release
	paused         bool              // pauses all rows
}

// copy copies everything.
func (c *copier) copy(ctx context.Context) (entries, letters int, err error) {
	if c.worker, err = c.target.Heartbeat(ctx, 0, 24*time.Hour); err != nil {
		return 0, 0, err
	}
	if letters, err = c.letters(ctx); err != nil {
		return 0, 0, err
	}
	detached, err := c.rows(ctx, true)
	if err != nil {
		return 0, 0, err
	}
	if err = errors.Join(c.pauses(ctx), c.limits(ctx)); err == nil { // all claims are made, and the first row follows that may fire
		entries, err = c.rows(ctx, false)
	}
	if err == nil {
		err = c.finish(ctx, c.detached)
	}
	if err == nil {
		_, err = c.target.Heartbeat(ctx, c.worker, 0)
	}
	return entries + detached, letters, err
}

// pauses copies the pauses, and adds the pause of all rows.
func (c *copier) pauses(ctx context.Context) error {
	all, err := c.source.Paused(ctx)
	if c.paused {
		all = append(all, backend.Pause{Reason: "migrate --paused", Since: time.Now().UnixNano()})
	}
	for i := 0; i < len(all) && err == nil; i++ {
		err = c.target.Pause(ctx, all[i])
	}
	return err
}

// limits copies the limits.
func (c *copier) limits(ctx context.Context) error {
	all, err := c.source.Limited(ctx, backend.Version{Newest: -1})
	for i := 0; i < len(all.Limits) && err == nil; i++ {
		err = c.target.SetLimit(ctx, all.Limits[i].Limit)
	}
	return err
}

// letters copies the dead letters.
func (c *copier) letters(ctx context.Context) (n int, err error) {
	for page, err := range backend.DeadPages(ctx, c.source, "") {
		if err != nil {
			return n, err
		}
		for len(page) > 0 {
			var rows []backend.Row // of different keys, which have one main slot each
			for i := 0; i < len(page) && (i == 0 || page[i].Key != page[i-1].Key); i++ {
				rows = append(rows, page[i].Row)
			}
			outcomes, err := c.claim(ctx, rows, backend.Bury)
			if err != nil {
				return n, err
			}
			for i := range outcomes {
				outcomes[i].Error = page[i].Error
			}
			if err := c.finish(ctx, outcomes); err != nil {
				return n, err
			}
			n += len(rows)
			page = page[len(rows):]
		}
	}
	return n, nil
}

// rows copies the detached pending rows, or all other pending rows.
func (c *copier) rows(ctx context.Context, detached bool) (n int, err error) {
	for page, err := range backend.Pages(ctx, c.source, "", false) {
		if err != nil {
			return n, err
		}
		var ops []backend.Op
		for i := range page {
			switch {
			case page[i].Detached != detached:
			case detached:
				outcomes, err := c.claim(ctx, page[i:i+1], backend.Release)
				if err == nil {
					err = c.displace(ctx, page[i].Key)
				}
				if err != nil {
					return n, err
				}
				c.detached = append(c.detached, outcomes...)
				n++
			default:
				ops = append(ops, backend.Op{Kind: backend.Set, Row: page[i]})
			}
		}
		if _, err := c.apply(ctx, ops); err != nil {
			return n, err
		}
		n += len(ops)
	}
	return n, nil
}

// claim stores rows in the main slots of their keys, and claims them for outcomes of a fate.
func (c *copier) claim(ctx context.Context, rows []backend.Row, fate backend.Fate) (outcomes []backend.Outcome, err error) {
	var ops []backend.Op
	for _, row := range rows {
		row.Detached = false
		ops = append(ops, backend.Op{Kind: backend.Set, Row: row})
	}
	results, err := c.apply(ctx, ops)
	if err != nil {
		return nil, err
	}
	var claims []backend.Claim
	for _, r := range results {
		claims = append(claims, backend.Claim{Ref: r.Row.Ref()})
		outcomes = append(outcomes, backend.Outcome{Ref: r.Row.Ref(), Fate: fate})
	}
	answers, err := c.target.Claim(ctx, c.worker, claims)
	if slices.Contains(answers, backend.Overtaken) {
		err = errors.Join(err, errInUse)
	}
	return outcomes, err
}

// displace leaves the main slot of a key with a claimed row empty: the series of a detached
// occurrence may have been cancelled.
func (c *copier) displace(ctx context.Context, key string) error {
	_, err := c.apply(ctx, []backend.Op{
		{Kind: backend.Set, Row: backend.Row{Key: key, Due: 1}},
		{Kind: backend.Cancel, Row: backend.Row{Key: key}},
	})
	return err
}

var errInUse = errors.New("another process uses the target")

func (c *copier) apply(ctx context.Context, ops []backend.Op) ([]backend.Result, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	results, err := c.target.Apply(ctx, ops)
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	return results, err
}

func (c *copier) finish(ctx context.Context, outcomes []backend.Outcome) error {
	if len(outcomes) == 0 {
		return nil
	}
	applied, err := c.target.Finish(ctx, c.worker, outcomes)
	if slices.Contains(applied, false) {
		err = errors.Join(err, errInUse)
	}
	return err
}
