package durable

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable/backend"
)

func inGroup(group, key string) *flight {
	return &flight{row: backend.Row{Group: group, Key: key}}
}

func keysOf(rows []*flight) (keys []string) {
	for _, h := range rows {
		keys = append(keys, h.row.Key)
	}
	return keys
}

func TestGroupsTakeTurns(t *testing.T) {
	var ts turns
	for _, h := range []*flight{inGroup("a", "a1"), inGroup("a", "a2"), inGroup("", "1"), inGroup("a", "a3"), inGroup("b", "b1"), inGroup("", "2")} {
		ts.put(h)
	}
	require.Equal(t, []string{"a1", "1", "b1", "a2"}, keysOf(ts.takeFirst(4)))
	ts.put(inGroup("b", "b2"))
	require.Equal(t, []string{"2", "a3", "b2"}, keysOf(ts.takeFirst(9)))
	require.Zero(t, ts.n)
}

// The model is a list of the waiting rows, and the order of the groups that have rows.
func TestTurnsFollowTheirModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var ts turns
	model, order := map[string][]string{}, []string{}
	for i := range 20_000 {
		if rng.IntN(2+i/5000%2) > 0 && ts.n > 0 { // the number of rows grows, falls, and so on
			group := order[0]
			want := model[group][0]
			if order, model[group] = order[1:], model[group][1:]; len(model[group]) > 0 {
				order = append(order, group)
			}
			require.Equal(t, want, ts.take().row.Key)
		} else {
			group := []string{"", "a", "b", "c", "d"}[rng.IntN(5)]
			if len(model[group]) == 0 {
				order = append(order, group)
			}
			model[group] = append(model[group], fmt.Sprint(i))
			ts.put(inGroup(group, fmt.Sprint(i)))
		}
		if i%100 == 0 {
			var all []string
			for _, keys := range model {
				all = append(all, keys...)
			}
			require.ElementsMatch(t, all, keysOf(slices.Collect(ts.all())))
			require.LessOrEqual(t, len(ts.named), 4)
		}
	}
	ts.takeFirst(ts.n)
	require.Empty(t, ts.named, "groups without rows take no memory")
}
