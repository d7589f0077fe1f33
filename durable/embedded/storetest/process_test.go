package storetest

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/embedded/internal/proc"
	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
)

// shop is a store in processes of their own, with a client here and workers that
// write into a ledger.
type shop struct {
	t      *testing.T
	nodes  []role.Node
	kept   []*proc.Process // the nodes' processes
	work   []*proc.Process // the workers'
	store  role.Store
	urls   []string
	ledger string
	client *durable.Store
	conn   *nats.Conn
}

// newShop starts a standalone store.
func newShop(t *testing.T, o role.Store) *shop {
	sh := &shop{t: t, store: o, ledger: filepath.Join(t.TempDir(), "ledger")}
	sh.nodes = []role.Node{{Dir: t.TempDir(), Listen: freeAddress(t), Store: o}}
	sh.kept = make([]*proc.Process, 1)
	sh.startNode(0)
	sh.connect()
	return sh
}

func (sh *shop) connect() {
	for _, n := range sh.nodes {
		sh.urls = append(sh.urls, "nats://"+n.Listen)
	}
	var err error
	sh.client, sh.conn, err = role.Connect(testContext(sh.t), sh.urls, sh.store)
	require.NoError(sh.t, err)
	sh.t.Cleanup(func() {
		sh.client.Close()
		sh.conn.Close()
	})
}

// startNode starts a node, and waits until it is ready.
func (sh *shop) startNode(i int) {
	sh.t.Helper()
	p, _, err := role.Config{Node: &sh.nodes[i]}.Start()
	require.NoError(sh.t, err)
	sh.kept[i] = p
	sh.t.Cleanup(p.Kill)
}

// startWorker starts a worker.
func (sh *shop) startWorker(w role.Worker) *proc.Process {
	sh.t.Helper()
	w.URLs, w.Ledger = sh.urls, sh.ledger
	if w.Store == (role.Store{}) {
		w.Store = sh.store
	}
	p, _, err := role.Config{Worker: &w}.Start()
	require.NoError(sh.t, err)
	sh.work = append(sh.work, p)
	sh.t.Cleanup(p.Kill)
	return p
}

// said returns what the workers wrote to standard error.
func (sh *shop) said() (text string) {
	for _, p := range sh.work {
		text += p.Stderr()
	}
	return text
}

// set sets n timers that are due evenly over a time, from some time from now on.
func (sh *shop) set(n int, from, over time.Duration) {
	sh.t.Helper()
	start := time.Now().Add(from)
	stored, err := sh.client.SetMany(testContext(sh.t), func(yield func(durable.Timer) bool) {
		for i := range n {
			due := start.Add(over * time.Duration(i) / time.Duration(n))
			if !yield(durable.Timer{Key: fmt.Sprintf("order-%d", i), Due: due, Payload: []byte("check")}) {
				return
			}
		}
	})
	require.NoError(sh.t, err)
	require.Equal(sh.t, n, stored)
}

// await waits until n timers have fired, and returns the firings.
func (sh *shop) await(n int) []role.Entry {
	sh.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		all := sh.entries()
		keys := map[string]bool{}
		for _, e := range all {
			keys[e.Key] = true
		}
		if len(keys) >= n {
			return all
		}
		require.True(sh.t, time.Now().Before(deadline), "%d of %d fired: %+v; the workers: %s", len(keys), n, sh.client.Stats(), sh.said())
		time.Sleep(50 * time.Millisecond)
	}
}

func (sh *shop) entries() []role.Entry {
	all, err := role.NewLedger(sh.ledger).Next()
	require.NoError(sh.t, err)
	return all
}

// settle waits until nothing is pending or leased.
func (sh *shop) settle() {
	sh.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := sh.client.Refresh(testContext(sh.t))
		st := sh.client.Stats()
		if err == nil && st.Pending+st.Leased <= int64(sh.client.Shards()) { // the canaries
			return
		}
		require.True(sh.t, time.Now().Before(deadline), "%v %+v", err, st)
		time.Sleep(100 * time.Millisecond)
	}
}

// balance checks that each timer has fired, none early, and that those that fired
// repeatedly did so with the same ID. It returns how many firings were repeated.
func balance(t *testing.T, all []role.Entry, n int) (repeated int) {
	t.Helper()
	ids := map[string]string{}
	var worst time.Duration
	for _, e := range all {
		if id, ok := ids[e.Key]; ok {
			repeated++
			assert.Equal(t, id, e.ID, "%s has fired with two IDs", e.Key)
		}
		ids[e.Key] = e.ID
		assert.False(t, e.At.Before(e.Due), "%s: early by %v", e.Key, e.Due.Sub(e.At))
		worst = max(worst, e.At.Sub(e.Due))
	}
	assert.Len(t, ids, n)
	t.Logf("%d firings of %d timers, %d repeated, the latest by %v", len(all), n, repeated, worst)
	return repeated
}

func freeAddress(t *testing.T) string {
	addresses, err := role.FreeAddresses(1)
	require.NoError(t, err)
	return addresses[0]
}
