package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// server is the server of all tests; nil if PostgreSQL is not installed.
var server *pgtest.Server

func TestMain(m *testing.M) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	var err error
	server, err = pgtest.Start(ctx, &pgtest.Options{Settings: map[string]string{"fsync": "off", "max_connections": "200"}})
	cancel()
	if err != nil && !errors.Is(err, pgtest.ErrNotInstalled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	if server != nil {
		server.Close()
	}
	if err := goleak.Find(); status == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// poolWith returns a pool whose sessions begin with a setting.
func poolWith(t testing.TB, name, value string) *pgxpool.Pool {
	t.Helper()
	config := newPool(t, "").Config()
	config.ConnConfig.RuntimeParams[name] = value
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

var schemas atomic.Int64

// newPool returns a pool at an address, by default the server's.
func newPool(t testing.TB, address string) *pgxpool.Pool {
	t.Helper()
	if server == nil {
		t.Skip(pgtest.ErrNotInstalled)
	}
	url := server.URL("postgres")
	if address != "" {
		url = fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", address)
	}
	pool, err := pgxpool.New(context.Background(), url+"&pool_max_conns=8")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// open opens a backend in a new schema.
func open(t testing.TB, pool *pgxpool.Pool, o postgres.Options) *postgres.Backend {
	t.Helper()
	if o.Schema == "" {
		o.Schema = fmt.Sprintf("test %d's", schemas.Add(1))
	}
	b, err := postgres.NewBackend(context.Background(), pool, &o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// fresh removes a schema that an earlier run has left.
func fresh(t testing.TB, schema string) string {
	t.Helper()
	_, err := newPool(t, "").Exec(context.Background(), "DROP SCHEMA IF EXISTS "+schema+" CASCADE")
	require.NoError(t, err)
	return schema
}

func apply(t testing.TB, b *postgres.Backend, ops ...backend.Op) []backend.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	results, err := b.Apply(ctx, ops)
	require.NoError(t, err)
	return results
}

func set(key string, due time.Time) backend.Op {
	return backend.Op{Kind: backend.Set, Row: backend.Row{Key: key, Due: due.UnixNano(), Nonce: 7, Payload: []byte("p")}}
}

func register(t *testing.T, b *postgres.Backend) int64 {
	t.Helper()
	w, err := b.Heartbeat(t.Context(), 0, time.Minute)
	require.NoError(t, err)
	return w
}

func lease(t *testing.T, b *postgres.Backend, worker int64, until time.Time) []backend.Row {
	t.Helper()
	rows, err := b.LeaseRows(t.Context(), worker, until, 100)
	require.NoError(t, err)
	return rows
}

// claimed stores entries due now, and returns them as claimed by a new worker.
func claimed(t *testing.T, b *postgres.Backend, n int) (worker int64, rows []backend.Row) {
	t.Helper()
	for i := range n {
		apply(t, b, set(fmt.Sprint("k", i), time.Now()))
	}
	worker = register(t, b)
	rows = lease(t, b, worker, time.Now())
	require.Len(t, rows, n)
	return worker, rows
}

// recurring returns a Set of a series.
func recurring(key string, due time.Time) backend.Op {
	op := set(key, due)
	op.Row.Every = "0 0 @every 1h"
	return op
}

// claims returns claims of rows, with the next occurrences of recurring ones.
func claims(rows []backend.Row) (claims []backend.Claim) {
	for _, r := range rows {
		c := backend.Claim{Ref: r.Ref()}
		if r.Every != "" {
			next := r
			next.Due += int64(time.Hour)
			c.Next = &next
		}
		claims = append(claims, c)
	}
	return claims
}

// short is a context for calls that must not wait for an open transaction.
func short(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// storingLog is the output of a logger. It stores an entry per record.
type storingLog struct {
	ctx    context.Context
	b      *postgres.Backend
	record chan string // each record, before its entry is stored
	stored chan error
}

func (l *storingLog) Write(record []byte) (int, error) {
	l.record <- string(record)
	_, err := l.b.Apply(l.ctx, []backend.Op{set("k", time.Now().Add(time.Hour))})
	l.stored <- err
	return len(record), nil
}

// lines is the text of a log, or of a process.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) count(part string) int { return strings.Count(l.String(), part) }
