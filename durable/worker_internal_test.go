package durable

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/backend/backendtest"
)

// The claim of a row is refused while another transaction has locked it. Its lease may be
// returned, and given to the same worker again, before the worker hears of the refusal.
func TestRefusedClaimLeavesARowThatWasLeasedAgain(t *testing.T) {
	s, err := New(t.Context(), backendtest.NewMemory(), nil)
	require.NoError(t, err)
	defer s.Close()
	o, err := (&WorkOptions{}).complete()
	require.NoError(t, err)
	w, err := newWorker(s, nil, o, nil)
	require.NoError(t, err)
	defer w.wheel.Stop()
	w.lease.renew(0, 1, time.Now(), time.Hour)
	row := backend.Row{Key: "k", Generation: 1, Due: time.Now().Add(time.Hour).UnixNano()}
	require.True(t, w.accept(row, true), "announced")
	row.Holder = 1
	require.True(t, w.accept(row, true), "leased")
	first := w.held[row.Ref()]
	require.True(t, w.accept(row, true), "leased again")
	w.claimed(first, false)
	require.NotNil(t, w.held[row.Ref()])
}
