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

// W4: a copy replaces a row only if the row of the table can no longer be claimed.
func TestCopyReplacesARowThatCannotFire(t *testing.T) {
	claimed, leased, announced := backend.Row{State: backend.Claimed, Holder: 7}, backend.Row{Holder: 7}, backend.Row{}
	adopted, begun := backend.Row{State: backend.Claimed, Holder: 8}, backend.Row{Detached: true}
	for name, c := range map[string]struct {
		done, leased bool // of the row in the table
		term         uint64
		copy         backend.Row
		replaces     bool
	}{
		"a claimed copy, after the handler has succeeded":             {true, true, 1, claimed, false},
		"a pending copy, after the handler has succeeded":             {true, true, 2, leased, false},
		"a copy of a later lease, after the handler has succeeded":    {true, true, 2, adopted, true},
		"a copy of a later lease":                                     {false, true, 2, leased, true},
		"an announced copy in a later lease":                          {false, false, 2, announced, true},
		"a copy that the database has claimed for the worker":         {false, false, 1, claimed, true},
		"a copy that is leased a second time":                         {false, true, 1, leased, true},
		"a copy of an occurrence that has begun":                      {false, false, 1, begun, true},
		"the first leased copy of an announced row":                   {false, false, 1, leased, false},
		"an announced copy of a leased row":                           {false, true, 1, announced, false},
		"a second announced copy, before the database has leased one": {false, false, 1, announced, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTable(kinds{"": {options: WorkOptions{MaxHeld: 1}}})
			h, answer := f.add(backend.Row{Key: "k"}, 1, false)
			require.Equal(t, added, answer)
			h.leased, h.row.Holder, h.outcome.Last = c.leased, 7, "last"
			h.done.Store(c.done)
			row := c.copy
			row.Key = "k"
			other, answer := f.add(row, c.term, true)
			require.Equal(t, c.replaces, answer == added || answer == ended)
			require.Equal(t, c.replaces && c.done, answer == ended)
			if answer == ended {
				require.Equal(t, "last", other.outcome.Last)
				require.True(t, f.acknowledges(h))
				require.False(t, f.acknowledges(other))
			}
			require.Equal(t, !c.replaces, f.has(h))
			require.Equal(t, c.leased || !c.replaces && row.Holder != 0, f.wasLeased(h))
			n, _ := f.size()
			require.Equal(t, 1, n)
			require.Equal(t, 1, f.total.held)
		})
	}
}

// newTable returns a table with a memory per kind, or one memory with the kind of all other keys.
func newTable(ks kinds) *flights {
	total := &memory{}
	for _, k := range ks {
		total.most += k.options.MaxHeld
		k.memory = &memory{most: k.options.MaxHeld}
	}
	if k := ks[""]; k != nil {
		k.memory = total
	}
	return newFlights(ks, total, make(chan struct{}, 1))
}

func TestReservedRoomIsOfOneKind(t *testing.T) {
	a, b := &kind{name: "a/", options: WorkOptions{MaxHeld: 4}}, &kind{name: "b/", options: WorkOptions{MaxHeld: 3}}
	f := newTable(kinds{"a/": a, "b/": b})
	for _, key := range []string{"a/0", "b/0"} { // the first look takes less
		_, answer := f.add(backend.Row{Key: key}, 1, false)
		require.Equal(t, added, answer)
	}
	n, cancel := f.reserve(a, nil, 2)
	require.Equal(t, 2, n)
	rest, cancelRest := f.reserve(a, nil, 10)
	require.Equal(t, 1, rest, "MaxHeld of the kind")
	none, cancelNone := f.reserve(a, nil, 1)
	require.Zero(t, none)
	_, answer := f.add(backend.Row{Key: "a/1"}, 1, false)
	require.Equal(t, full, answer, "an announced row leaves the reserved room")
	of, cancelB := f.reserve(b, nil, 10)
	require.Equal(t, 2, of)
	adopted, _ := f.reserve(nil, nil, 10)
	require.Zero(t, adopted, "rows of all kinds")
	for _, c := range []func(){cancel, cancelRest, cancelNone, cancelB} {
		c()
	}
	adopted, cancel = f.reserve(nil, nil, 10)
	require.Equal(t, 5, adopted)
	cancel()
	for i, half := range []bool{true, false, false} {
		_, answer = f.add(backend.Row{Key: "a/", Generation: uint64(i)}, 1, false)
		require.Equal(t, added, answer)
		require.Equal(t, half, f.halfEmpty(a))
	}
	_, answer = f.add(backend.Row{Key: "a/", Generation: 3}, 1, false)
	require.Equal(t, full, answer)
	_, answer = f.add(backend.Row{Key: "a/", Generation: 3}, 1, true)
	require.Equal(t, added, answer, "a row that the database has returned is never refused")
	require.True(t, f.halfEmpty(b))
}

// A Work that ends waits for emptied.
func TestTableEndsWhenClosedAndEmpty(t *testing.T) {
	f := newTable(kinds{"": {options: WorkOptions{MaxHeld: 2}}})
	old, _ := f.add(backend.Row{Key: "k"}, 1, false)
	h, _ := f.add(backend.Row{Key: "k", Holder: 1}, 2, true)
	f.remove(old) // which h has replaced
	require.True(t, f.has(h))
	require.Equal(t, 1, f.total.held)
	f.close()
	_, answer := f.add(backend.Row{Key: "other"}, 2, true)
	require.Equal(t, closed, answer)
	_, answer = f.add(backend.Row{Key: "k"}, 2, true)
	require.Equal(t, known, answer)
	require.NoError(t, f.emptied.Err())
	f.remove(h)
	require.Error(t, f.emptied.Err())
	require.Zero(t, f.total.held)
	require.Panics(t, func() { f.remove(h) }, "a row leaves once")
}
