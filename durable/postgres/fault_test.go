package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

func proxied(t *testing.T) (*pgtest.Proxy, *postgres.Backend) {
	if server == nil {
		t.Skip(pgtest.ErrNotInstalled)
	}
	p, err := pgtest.NewProxy(server.Address())
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	return p, open(t, newPool(t, p.Address()), postgres.Options{PollOnly: true, Timeout: time.Second})
}

// loseCommits makes the proxy lose the answers to n COMMITs.
func loseCommits(p *pgtest.Proxy, n int64) *atomic.Int64 {
	var lost atomic.Int64
	p.Lose(func(request []byte) bool {
		return bytes.Contains(request, []byte("COMMIT\x00")) && lost.Add(1) <= n
	})
	return &lost
}

// A lane that waits for the logger would never free the key.
func TestLoggerMayStoreEntries(t *testing.T) {
	p, _ := proxied(t)
	log := &storingLog{ctx: short(t), record: make(chan string, 9), stored: make(chan error, 9)}
	o := postgres.Options{PollOnly: true, Timeout: time.Second}
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	log.b = open(t, newPool(t, p.Address()), o)
	p.Retarget("127.0.0.1:1")
	applied := make(chan error, 1)
	go func() {
		_, err := log.b.Apply(log.ctx, []backend.Op{set("k", time.Now().Add(time.Hour))})
		applied <- err
	}()
	require.Contains(t, <-log.record, "waiting for the database")
	p.Retarget(server.Address())
	require.NoError(t, <-applied)
	require.NoError(t, <-log.stored)
}

func TestLostAnswerToCommitIsResolved(t *testing.T) {
	p, b := proxied(t)
	far := time.Now().Add(time.Hour)
	apply(t, b, set("warm", far)) // statements prepared
	for i, op := range []backend.Op{
		{Kind: backend.Create, Row: backend.Row{Key: "a", Due: far.UnixNano()}},
		{Kind: backend.Move, Row: backend.Row{Key: "a", Due: far.UnixNano() + 1}},
		{Kind: backend.Cancel, Row: backend.Row{Key: "a"}},
	} {
		lost := loseCommits(p, 1)
		require.NoError(t, apply(t, b, op)[0].Err, "operation %d", i)
		require.Positive(t, lost.Load())
		p.Lose(nil)
	}
	_, err := b.Get(context.Background(), "a")
	require.ErrorIs(t, err, backend.ErrNotFound)
}

func TestClaimIsKnownAfterLostAnswer(t *testing.T) {
	p, b := proxied(t)
	ctx := context.Background()
	due := time.Now().Add(time.Minute)
	apply(t, b, set("a", due), set("b", due))
	w := register(t, b)
	loseCommits(p, 1)
	rows := lease(t, b, w, due)
	require.Len(t, rows, 2)
	loseCommits(p, 1)
	won, err := b.Claim(ctx, w, []backend.Claim{{Ref: rows[0].Ref()}, {Ref: rows[1].Ref()}})
	require.NoError(t, err)
	require.Equal(t, []backend.Answer{backend.Won, backend.Won}, won)
	loseCommits(p, 1)
	done, err := b.Finish(ctx, w, []backend.Outcome{{Ref: rows[0].Ref()}, {Ref: rows[1].Ref()}})
	require.NoError(t, err)
	require.Equal(t, []bool{true, true}, done)
}

// The server is unreachable after a COMMIT whose answer is lost. The end of a worker must not wait
// for it.
func TestContextEndsTheQuestionForAnOutcome(t *testing.T) {
	p, b := proxied(t)
	due := time.Now().Add(time.Minute)
	apply(t, b, set("a", due))
	w := register(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var down atomic.Bool
	p.Lose(func(request []byte) bool {
		if bytes.Contains(request, []byte("COMMIT\x00")) {
			down.Store(true)
			cancel()
		}
		return down.Load()
	})
	leased := make(chan error, 1)
	go func() {
		_, err := b.LeaseRows(ctx, w, due, 9)
		leased <- err
	}()
	select {
	case err := <-leased:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(20 * time.Second):
		t.Error("Lease waits for the server")
	}
	p.Lose(nil)
}

// A COMMIT has one outcome even if its connection breaks on the way, and the operation
// reports it.
func TestHeldCommitHasOneOutcome(t *testing.T) {
	p, b := proxied(t)
	far := time.Now().Add(time.Hour)
	apply(t, b, set("warm", far))
	var once sync.Once
	p.Lose(func(request []byte) bool {
		if bytes.Contains(request, []byte("COMMIT\x00")) {
			once.Do(func() {
				go func() { // longer than Options.Timeout
					p.Hold()
					time.Sleep(1200 * time.Millisecond)
					p.Release()
					p.Cut()
				}()
			})
		}
		return false
	})
	result := apply(t, b, backend.Op{Kind: backend.Create, Row: backend.Row{Key: "a", Due: far.UnixNano()}})[0]
	require.NoError(t, result.Err)
	row, err := b.Get(context.Background(), "a")
	require.NoError(t, err)
	require.Equal(t, result.Row.Generation, row.Generation)
}

// A machine that dies closes no connection. Its open transactions must not keep rows locked, since
// no worker would claim them.
func TestLocksOfALostMachineEnd(t *testing.T) {
	p, b := proxied(t)
	other := open(t, newPool(t, ""), postgres.Options{Schema: b.Schema()})
	far := time.Now().Add(time.Hour)
	apply(t, b, set("k", far))
	lost := set("k", far)
	lost.Row.Payload = []byte("the last words")
	held := make(chan struct{})
	var once sync.Once
	p.Lose(func(request []byte) bool {
		if bytes.Contains(request, lost.Row.Payload) {
			once.Do(func() { go func() { p.Hold(); close(held) }() })
		}
		return false
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	defer p.Release()
	go b.Apply(ctx, []backend.Op{lost})
	<-held
	soon, cancelSoon := context.WithTimeout(ctx, 10*time.Second) // pgx closes its side after 15 s
	defer cancelSoon()
	results, err := other.Apply(soon, []backend.Op{set("k", far)})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
}

func TestCutConnectionsLoseNoEntry(t *testing.T) {
	p, b := proxied(t)
	far := time.Now().Add(time.Hour)
	stop := make(chan struct{})
	ended := make(chan struct{})
	var cuts atomic.Int64
	go func() {
		defer close(ended)
		for range 20 { // not forever, because a slow machine needs time for a connection
			select {
			case <-stop:
				return
			case <-time.After(50*time.Millisecond + rand.N(200*time.Millisecond)):
				cuts.Add(int64(p.Cut()))
			}
		}
	}()
	for i := 0; i < 60 || cuts.Load() == 0; i++ {
		key := fmt.Sprint(i)
		require.NoError(t, apply(t, b, backend.Op{Kind: backend.Create, Row: backend.Row{Key: key, Due: far.UnixNano()}})[0].Err)
		require.NoError(t, apply(t, b, backend.Op{Kind: backend.Cancel, Row: backend.Row{Key: key}})[0].Err)
	}
	close(stop)
	<-ended
}

// After a failover, a transaction ID is meaningless: the new primary may give it to another
// transaction. The entry must not count as stored unless it is.
// The crash loses the log of the transaction, and another one gets its ID and commits.
func TestOutcomeIsUnknownAfterCrash(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := pgtest.Start(ctx, nil)
	if errors.Is(err, pgtest.ErrNotInstalled) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer server.Close()
	p, err := pgtest.NewProxy(server.Address())
	require.NoError(t, err)
	defer p.Close()
	b := open(t, newPool(t, p.Address()), postgres.Options{PollOnly: true, Timeout: time.Second})
	far := time.Now().Add(time.Hour)
	require.NoError(t, apply(t, b, set("warm", far))[0].Err)
	failed := make(chan error, 1)
	p.Lose(func(request []byte) bool {
		if !bytes.Contains(request, []byte("COMMIT\x00")) {
			return false
		}
		server.Kill() // the proxy forwards nothing before this returns
		go func() {
			p.Retarget("127.0.0.1:1") // no question comes before the ID is in use again
			err := server.Restart(ctx)
			if err == nil {
				_, err = newPool(t, server.Address()).Exec(ctx, "DO 'BEGIN FOR i IN 1..100 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END'")
			}
			p.Lose(nil)
			p.Retarget(server.Address())
			failed <- err
		}()
		return true
	})
	result := apply(t, b, set("a", far))[0]
	require.NoError(t, <-failed)
	require.ErrorContains(t, result.Err, "outcome of the transaction is unknown")
	_, err = b.Get(ctx, "a")
	require.ErrorIs(t, err, backend.ErrNotFound)
	require.NoError(t, apply(t, b, set("a", far))[0].Err)
}

func TestOutcomeIsUnknownAfterFailover(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	primary, err := pgtest.Start(ctx, nil)
	if errors.Is(err, pgtest.ErrNotInstalled) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer primary.Close()
	standby, err := primary.Standby(ctx) // asynchronous
	require.NoError(t, err)
	defer standby.Close()
	p, err := pgtest.NewProxy(primary.Address())
	require.NoError(t, err)
	defer p.Close()
	b := open(t, newPool(t, p.Address()), postgres.Options{PollOnly: true, Timeout: time.Second})
	far := time.Now().Add(time.Hour)
	require.NoError(t, apply(t, b, set("warm", far))[0].Err)
	direct := newPool(t, primary.Address())
	require.Eventually(t, func() bool { // the standby has the tables
		var same bool
		err := direct.QueryRow(ctx, "SELECT replay_lsn = pg_current_wal_lsn() FROM pg_stat_replication").Scan(&same)
		return err == nil && same
	}, 20*time.Second, 10*time.Millisecond)
	failed := make(chan error, 1)
	p.Lose(func(request []byte) bool {
		if !bytes.Contains(request, []byte("COMMIT\x00")) {
			return false
		}
		primary.Kill() // the proxy forwards nothing before this returns
		go func() {
			failed <- standby.Promote(ctx)
			p.Lose(nil)
			p.Retarget(standby.Address())
		}()
		return true
	})
	result := apply(t, b, set("a", far))[0]
	require.NoError(t, <-failed)
	require.ErrorContains(t, result.Err, "outcome of the transaction is unknown")
	_, err = b.Get(ctx, "a")
	require.ErrorIs(t, err, backend.ErrNotFound)
	require.NoError(t, apply(t, b, set("a", far))[0].Err)
}

// Failing handlers must not take one transaction per entry: claims wait for them. A transaction for
// any number of large payloads would exceed Options.Timeout.
func TestOutcomesShareTransactions(t *testing.T) {
	p, b := proxied(t)
	w, rows := claimed(t, b, 65)
	var outcomes []backend.Outcome
	for i, r := range rows {
		outcomes = append(outcomes, backend.Outcome{Ref: r.Ref(), Fate: backend.Retry + backend.Fate(i%3), Due: time.Now().UnixNano()})
	}
	commits := loseCommits(p, 0)
	applied, err := b.Finish(t.Context(), w, outcomes)
	require.NoError(t, err)
	require.NotContains(t, applied, false)
	require.EqualValues(t, 2, commits.Load())
}

// Otherwise thousands of series that are due at the same second delay each other, and all others.
func TestClaimsOfSeriesShareTransactions(t *testing.T) {
	p, b := proxied(t)
	due := time.Now().Add(time.Minute)
	for i := range 65 {
		apply(t, b, recurring(fmt.Sprint("k", i), due))
	}
	w := register(t, b)
	rows := lease(t, b, w, due)
	require.Len(t, rows, 65)
	commits := loseCommits(p, 0)
	won, err := b.Claim(t.Context(), w, claims(rows))
	require.NoError(t, err)
	require.NotContains(t, won, backend.Overtaken)
	require.EqualValues(t, 2, commits.Load())
	next, err := b.Page(t.Context(), "", backend.Cursor{}, 100, false)
	require.NoError(t, err)
	require.Len(t, next, 65)
}

// A transaction of claims that takes the server longer than Options.Timeout would lose its rows.
func TestLargePayloadsSplitClaims(t *testing.T) {
	p, b := proxied(t)
	due := time.Now().Add(time.Minute)
	for i := range 4 {
		op := recurring(fmt.Sprint("k", i), due)
		op.Row.Payload = make([]byte, 1<<20)
		apply(t, b, op)
	}
	w := register(t, b)
	rows := lease(t, b, w, due)
	commits := loseCommits(p, 0)
	won, err := b.Claim(t.Context(), w, claims(rows))
	require.NoError(t, err)
	require.Equal(t, []backend.Answer{backend.Won, backend.Won, backend.Won, backend.Won}, won)
	require.EqualValues(t, 4, commits.Load())
}

// A batch that the server cannot store within Options.Timeout would be repeated forever.
func TestLargePayloadsSplitABatch(t *testing.T) {
	p, _ := proxied(t)
	b := open(t, newPool(t, p.Address()), postgres.Options{PollOnly: true}) // with time for a batch on a slow machine
	far := time.Now().Add(time.Hour)
	var ops []backend.Op
	for i := range 24 {
		ops = append(ops, set(fmt.Sprint(i), far))
		ops[i].Row.Payload = make([]byte, 1<<20)
	}
	commits := loseCommits(p, 0)
	results, err := b.Apply(short(t), ops)
	require.NoError(t, err)
	for _, r := range results {
		require.NoError(t, r.Err)
	}
	require.GreaterOrEqual(t, commits.Load(), int64(3))
}
