package durable_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// store stores n rows as another process does: no worker is told. The rows are due after d, one per nanosecond. Only a sweep finds a
// row before the watermark: store rows in the order of their due times.
func (f *fixture) store(kind, group string, n int, d time.Duration) {
	f.t.Helper()
	due := time.Now().Add(d).UnixNano()
	for i := range n {
		row := backend.Row{Key: fmt.Sprintf("%s%05d-%d", kind, i, due), Due: due + int64(i), Group: group, Attempt: 1}
		results, err := f.b.DB.Apply(f.t.Context(), []backend.Op{{Kind: backend.Set, Row: row}})
		require.NoError(f.t, err)
		require.NoError(f.t, results[0].Err)
	}
}

func TestOneLaneReadsAllKinds(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var m durable.Mux
		m.Handle("a/", f.noted("", nil), nil)
		m.Handle("b/", f.noted("", nil), nil)
		defer f.workMux(&m)()
		for range 20 {
			f.store("a/", "", 40, 300*time.Millisecond)
			f.store("b/", "", 1, 301*time.Millisecond)
			f.store("other/", "", 1, 302*time.Millisecond)
			time.Sleep(time.Second)
		}
		kinds, prepared := f.b.looks()
		assert.Equal(t, []int{2, 0}, []int{kinds, prepared})
		require.Len(f.t, f.firings(), 20*41)
		for _, firing := range f.firings() {
			assert.Less(t, firing.Lateness, 100*time.Millisecond, firing.Key)
		}
	}, together)
}

// A lane for all kinds must give way before its rows keep others waiting. Until the database can do without it, its looks go on.
func TestKindsPartBeforeTheyWait(t *testing.T) {
	small := &durable.WorkOptions{Concurrency: 1, MaxHeld: 400, DrainTimeout: -1}
	for name, test := range map[string]struct {
		store   func(f *fixture)
		options *durable.WorkOptions // of the kind a/, whose handlers hang
	}{
		"entries without a handler": {func(f *fixture) { f.store("other/", "", 6000, -time.Hour) }, nil},
		"no room in memory":         {func(f *fixture) { f.store("a/", "", 500, -time.Hour) }, small},
		"no room for a group":       {func(f *fixture) { f.store("a/", "g", 300, -time.Hour) }, small},
		"overdue entries":           {func(f *fixture) { f.store("a/", "", 3000, -time.Hour) }, nil},
	} {
		for _, failure := range []error{nil, errGone} {
			t.Run(fmt.Sprintf("%s, error %v", name, failure), func(t *testing.T) {
				inBubble(t, func(f *fixture) {
					var m durable.Mux
					m.Handle("a/", hang, test.options)
					m.Handle("b/", f.noted("", nil), &durable.WorkOptions{DrainTimeout: -1})
					f.b.set("PrepareKinds", failure)
					defer f.workMux(&m)()
					time.Sleep(time.Second)
					test.store(f)
					for range 40 {
						f.store("b/", "", 10, 300*time.Millisecond)
						time.Sleep(time.Second)
					}
					kinds, prepared := f.b.looks()
					if failure == nil {
						assert.Equal(t, []int{0, 1}, []int{kinds, prepared})
					} else {
						assert.Equal(t, 2, kinds)
						assert.Positive(t, prepared)
						assert.Less(t, prepared, 6, "in pauses that grow")
						assert.Contains(t, f.log.String(), "cannot prepare the database for separate looks at kinds")
					}
					require.Len(f.t, f.firings(), 400)
					for _, firing := range f.firings() {
						assert.Less(t, firing.Lateness, 100*time.Millisecond, firing.Key)
					}
				}, together)
			})
		}
	}
}

func TestLargeStoreIsPreparedForKindsFirst(t *testing.T) {
	for n, want := range map[int]error{999: nil, 1000: errGone} {
		t.Run(fmt.Sprint(n, " entries"), func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.store("other/", "", n, time.Hour)
				f.b.set("PrepareKinds", errGone)
				var m durable.Mux
				m.Handle("a/", hang, nil)
				ctx, cancel := context.WithTimeout(f.t.Context(), time.Second)
				defer cancel()
				require.ErrorIs(f.t, f.WorkMux(ctx, &m), want)
			}, together)
		})
	}
}
