package postgres_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/postgres"
)

// slowConn receives a number of bytes per second.
type slowConn struct {
	net.Conn
	rate int
}

func (c slowConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p[:min(len(p), 64<<10)])
	time.Sleep(time.Duration(n) * time.Second / time.Duration(c.rate))
	return n, err
}

// All payloads together take longer than Options.Timeout. Each call must get smaller until it ends.
func TestLargePayloadsPassASlowLine(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	const n, size = 24, 512 << 10
	config := newPool(t, "").Config()
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return slowConn{conn, 4 << 20}, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	require.NoError(t, err)
	defer pool.Close()
	fast := open(t, newPool(t, ""), postgres.Options{})
	b := open(t, pool, postgres.Options{Schema: fast.Schema(), Timeout: time.Second})
	var ops []backend.Op
	for i := range n {
		op := set(fmt.Sprintf("%02d", i), time.Now())
		op.Row.Payload = make([]byte, size)
		ops = append(ops, op)
	}
	small := set("small", time.Now())
	apply(t, fast, append(ops, small)...)
	w, err := b.Heartbeat(ctx, 0, 2*time.Minute)
	require.NoError(t, err)
	var outcomes []backend.Outcome
	for len(outcomes) < n+1 {
		rows, err := b.LeaseRows(ctx, w, time.Now(), 100)
		require.NoError(t, err)
		bytes := 0
		for _, r := range rows {
			bytes += len(r.Payload)
			outcomes = append(outcomes, backend.Outcome{Ref: r.Ref(), Fate: backend.Retry, Due: 1})
		}
		require.LessOrEqual(t, bytes, 5<<20)
	}
	done, err := b.Finish(ctx, w, outcomes)
	require.NoError(t, err)
	require.NotContains(t, done, false)
	require.Eventually(t, func() bool { // a transaction that was given up may hold rows for a while
		st, err := fast.Stats(ctx, nil)
		return err == nil && st.Claimed == 0
	}, time.Minute, 10*time.Millisecond)
	for i := range ops {
		ops[i].Kind = backend.Cancel
	}
	results, err := b.Apply(ctx, ops)
	require.NoError(t, err)
	for _, r := range results {
		require.NoError(t, r.Err)
	}
}
