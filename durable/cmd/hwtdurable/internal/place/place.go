// Package place opens stores by the flags of the command.
package place

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/postgres"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
	"github.com/hashedwheel/hwt/durable/sqlite"
)

// Place is the location of a store.
type Place struct {
	File      string // of SQLite
	URL       string // of PostgreSQL
	Schema    string // in PostgreSQL
	PgBouncer bool   // between here and PostgreSQL
	Normal    bool   // SQLite syncs every 100 ms
	MaxBytes  int64  // of SQLite
	Lease     time.Duration
}

// Flags adds the flags of a place.
func (p *Place) Flags(flags *flag.FlagSet) {
	flags.StringVar(&p.File, "store", "", "the `file` of an SQLite store")
	flags.StringVar(&p.URL, "postgres", "", "the `URL` of a PostgreSQL database")
	flags.StringVar(&p.Schema, "schema", "hwt", "the schema of the store in PostgreSQL")
	flags.BoolVar(&p.PgBouncer, "pgbouncer", false, "the URL leads to PgBouncer in transaction mode")
}

// ErrOne is returned if not exactly one place is given.
var ErrOne = errors.New("exactly one of --store and --postgres is required")

// Store is an open store.
type Store struct {
	*durable.Store
	SQLite   *sqlite.Store // nil for PostgreSQL
	Pool     *pgxpool.Pool // nil for SQLite
	postgres *postgres.Store
}

// Open opens the store, and creates it unless mustExist is set.
func (p Place) Open(ctx context.Context, mustExist bool) (*Store, error) {
	if (p.File == "") == (p.URL == "") {
		return nil, ErrOne
	}
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})) // no warnings of retries
	common := durable.Options{Logger: quiet, Lease: p.Lease}
	if p.File != "" {
		o := &sqlite.Options{Options: common, MustExist: mustExist, MaxBytes: p.MaxBytes}
		if p.Normal {
			o.SyncEvery = 100 * time.Millisecond
		}
		s, err := sqlite.Open(ctx, p.File, o)
		if err != nil {
			return nil, err
		}
		return &Store{Store: s.Store, SQLite: s}, nil
	}
	pool, err := p.pool(ctx)
	if err != nil {
		return nil, err
	}
	s, err := postgres.Open(ctx, pool, &postgres.Options{Options: common, Schema: p.Schema, PollOnly: p.PgBouncer, MustExist: mustExist})
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &Store{Store: s.Store, Pool: pool, postgres: s}, nil
}

func (p Place) pool(ctx context.Context) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(p.URL)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the URL of PostgreSQL: %s", reason(err.Error()))
	}
	config.MaxConns = max(config.MaxConns, 8)
	if p.PgBouncer {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // no prepared statements
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// reason returns an error of pgx without the URL, which may have the password. The details of a malformed URL may have
// parts of the password.
func reason(text string) string {
	if strings.Contains(text, "`: failed to parse as") {
		return "malformed URL or keywords; a password may need quotes, or percent-encoding in a URL"
	}
	return strings.TrimPrefix(text[strings.LastIndex(text, "`")+1:], ": ")
}

// InTx runs f in a transaction of the database, and commits unless f returns an error.
func (s *Store) InTx(ctx context.Context, f func(tx durable.Tx) error) error {
	if s.Pool != nil {
		return pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error { return f(s.postgres.Tx(tx)) })
	}
	tx, err := s.SQLite.DB().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(s.SQLite.Tx(tx)); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Verify verifies the whole store, except the checksums of rows in PostgreSQL.
func (s *Store) Verify(ctx context.Context) error {
	if s.SQLite != nil {
		return s.SQLite.Verify(ctx)
	}
	return s.postgres.Verify(ctx)
}

// Close closes the store and its pool.
func (s *Store) Close() error {
	if s.Pool != nil {
		defer s.Pool.Close()
		return s.Store.Close()
	}
	return s.SQLite.Close()
}

// empty creates the store. It returns an error if the store exists and has entries.
func (p Place) empty(ctx context.Context) error {
	s, err := p.Open(ctx, false)
	if err != nil {
		return err
	}
	st, err := s.Backend().Stats(ctx, nil)
	if n := st.Pending + st.Claimed + st.Dead; err == nil && n > 0 {
		err = fmt.Errorf("the store has %d entries, which a measurement fires and replaces (expected: a new store)", n)
	}
	return errors.Join(err, s.Close())
}

// Temporary completes a place without a location: a file or, with server, a private
// PostgreSQL server with the settings. The server is nil if it is not needed. A store at a
// given location must be empty. The caller calls remove at the end, also after an error.
func (p *Place) Temporary(ctx context.Context, server bool, settings map[string]string) (s *pgtest.Server, remove func(), err error) {
	remove = func() {}
	switch {
	case p.File != "" || p.URL != "":
		err = p.empty(ctx)
	case server:
		if s, err = pgtest.Start(ctx, &pgtest.Options{Settings: settings}); err == nil {
			p.URL, remove = s.URL("postgres"), func() { s.Close() } // it is private
		}
	default:
		var dir string
		if dir, err = os.MkdirTemp("", "hwtdurable-"); err == nil {
			p.File, remove = filepath.Join(dir, "store.db"), func() { os.RemoveAll(dir) }
		}
	}
	return s, remove, err
}
