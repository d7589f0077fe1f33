package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/embedded"
)

// TestThreeNodesNeedNoPortForClients opens a cluster whose nodes listen for each
// other only, and present a secret to each other.
func TestThreeNodesNeedNoPortForClients(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("elections take long")
	}
	ctx := testContext(t)
	var routes []string
	for range 3 {
		routes = append(routes, freeAddress(t))
	}
	stores := make([]*embedded.Store, 3)
	var all sync.WaitGroup
	for i := range stores {
		all.Go(func() {
			var err error
			stores[i], err = embedded.Open(ctx, t.TempDir(), &embedded.Options{
				Store: durable.Options{Lead: time.Second, Shards: 1}, Logger: quietLog,
				Cluster: &embedded.Cluster{Name: "c", Node: fmt.Sprint("n", i), Listen: routes[i], Secret: "known to them",
					Peers: slices.Delete(slices.Clone(routes), i, i+1)},
			})
			assert.NoError(t, err)
		})
	}
	all.Wait()
	for _, s := range stores {
		require.NotNil(t, s)
		t.Cleanup(func() { s.Close() })
	}
	_, err := stores[0].Set(ctx, "k", time.Now().Add(2*time.Second), []byte("p"))
	require.NoError(t, err)
	got, err := stores[1].Get(ctx, "k")
	require.NoError(t, err)
	assert.Equal(t, []byte("p"), got.Payload)
	fired := newFirings()
	stop := work(t, stores[2].Store, fired.handle, nil)
	fired.wait(t, 1)
	stop()
}
