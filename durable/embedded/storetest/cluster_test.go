package storetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/embedded"
	"github.com/hashedwheel/hwt/durable/embedded/internal/proc"
	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
)

var clusterStore = role.Store{Lead: 2 * time.Second, Replicas: 3, Shards: 2}

// newCluster starts three nodes.
func newCluster(t *testing.T) *shop {
	if testing.Short() {
		t.Skip("three servers and elections take long")
	}
	sh := &shop{t: t, store: clusterStore, ledger: filepath.Join(t.TempDir(), "ledger"), kept: make([]*proc.Process, 3)}
	names := []string{"n0", "n1", "n2"}
	var routes []string
	for range names {
		routes = append(routes, freeAddress(t))
	}
	for i, name := range names {
		peers := slices.Delete(slices.Clone(routes), i, i+1)
		sh.nodes = append(sh.nodes, role.Node{Dir: t.TempDir(), Listen: freeAddress(t), Store: clusterStore,
			Cluster: &embedded.Cluster{Name: "test", Node: name, Listen: routes[i], Peers: peers}})
	}
	sh.startNodes(0, 1, 2)
	sh.connect()
	return sh
}

// startNodes starts several nodes at once: one alone has no majority.
func (sh *shop) startNodes(which ...int) {
	var all sync.WaitGroup
	for _, i := range which {
		all.Go(func() {
			p, _, err := role.Config{Node: &sh.nodes[i]}.Start()
			if assert.NoError(sh.t, err) {
				sh.kept[i] = p
			}
		})
	}
	all.Wait()
	for _, i := range which {
		require.NotNil(sh.t, sh.kept[i])
		sh.t.Cleanup(sh.kept[i].Kill)
	}
}

// leader returns the node that leads a shard.
func (sh *shop) leader(shard string) int {
	js, err := jetstream.New(sh.conn)
	require.NoError(sh.t, err)
	var leader string
	require.Eventually(sh.t, func() bool {
		stream, err := js.Stream(testContext(sh.t), "HWT_timers_"+shard)
		if err != nil || stream.CachedInfo().Cluster == nil {
			return false
		}
		leader = stream.CachedInfo().Cluster.Leader
		return leader != ""
	}, patience, 100*time.Millisecond)
	return int(strings.TrimPrefix(leader, "n")[0] - '0')
}

// TestAKilledLeaderLosesNothing kills the leader of a shard while timers are set and
// while they fire.
func TestAKilledLeaderLosesNothing(t *testing.T) {
	t.Parallel()
	sh := newCluster(t)
	const n = 1500
	sh.startWorker(role.Worker{})
	sh.startWorker(role.Worker{})
	set := make(chan struct{})
	go func() {
		defer close(set)
		sh.set(n, 12*time.Second, 8*time.Second)
	}()
	time.Sleep(50 * time.Millisecond)
	first := sh.leader("00")
	sh.kept[first].Kill()
	<-set
	sh.startNodes(first)
	sh.await(n / 3)
	second := sh.leader("01")
	sh.kept[second].Kill()
	sh.await(n * 2 / 3)
	sh.startNodes(second)
	sh.await(n)
	sh.settle()
	assert.Zero(t, balance(t, sh.entries(), n))
}

// TestTwoOfThreeKilledAndOneWipedLoseNothing kills two nodes, and wipes the disk of
// one of them, before timers are due.
func TestTwoOfThreeKilledAndOneWipedLoseNothing(t *testing.T) {
	t.Parallel()
	sh := newCluster(t)
	const n = 500
	sh.set(n, 10*time.Second, 2*time.Second)
	sh.startWorker(role.Worker{})
	sh.kept[0].Kill()
	sh.kept[1].Kill()
	require.NoError(t, os.RemoveAll(sh.nodes[1].Dir))
	sh.startNodes(0, 1)
	sh.await(n)
	sh.settle()
	assert.Zero(t, balance(t, sh.entries(), n))
}
