package durable

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Every test of the package fails if a row breaks W1.
func init() {
	onIllegalMove = func(err error) { panic(err) }
}

func TestIllegalMoveOfARowPanics(t *testing.T) {
	for from := accepted; from <= dropped; from++ {
		for to := accepted; to <= dropped; to++ {
			h := &flight{row: backend.Row{Key: "k"}, stage: from}
			if slices.Contains(follows[from], to) {
				require.NotPanics(t, func() { h.move(to) })
			} else {
				require.PanicsWithError(t, `durable: key "k": illegal move from `+stageNames[from]+" to "+stageNames[to], func() { h.move(to) })
			}
			require.Equal(t, slices.Contains(follows[from], to), h.stage == to && from != to)
		}
	}
}
