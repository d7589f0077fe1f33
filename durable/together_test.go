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

// A look ends after Poll, however few batches it has read.
func TestKindsPartInSlowLooksAtABacklog(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var m durable.Mux
		m.Handle("a/", hang, nil)
		m.Handle("b/", f.noted("", nil), &durable.WorkOptions{DrainTimeout: -1})
		f.b.delay("Lease", 100*time.Millisecond)
		defer f.workMux(&m)()
		time.Sleep(time.Second)
		f.store("a/", "", 20_000, -time.Hour)
		f.store("b/", "", 10, 0)
		time.Sleep(3 * time.Second)
		kinds, prepared := f.b.looks()
		assert.Equal(t, []int{0, 1}, []int{kinds, prepared})
		assert.Len(t, f.firings(), 10)
	}, together)
}

// A dropped entry must not wait until other kinds leave room for a sweep.
func TestKindsPartWhenASweepMustWait(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var m durable.Mux
		m.Handle("a/", hang, &durable.WorkOptions{MaxHeld: 700, DrainTimeout: -1})
		m.Handle("b/", f.noted("", nil), &durable.WorkOptions{Concurrency: 1, MaxHeld: 10, DrainTimeout: -1})
		defer f.workMux(&m)()
		f.store("a/", "", 600, 10*time.Millisecond)
		f.store("b/", "", 10, 900*time.Millisecond)
		time.Sleep(500 * time.Millisecond)
		_, err := f.Set(t.Context(), durable.Entry{Key: "b/first", Due: time.Now().Add(100 * time.Millisecond)})
		require.NoError(t, err)
		time.Sleep(time.Second)
		kinds, prepared := f.b.looks()
		assert.Equal(t, []int{0, 1}, []int{kinds, prepared})
		assert.Len(t, f.firings(), 11)
	}, together)
}

func TestLargeStoreIsPreparedForKindsFirst(t *testing.T) {
	for name, test := range map[string]struct {
		entries, kinds int
		want           error
	}{
		"small":      {999, 1, nil},
		"large":      {1000, 1, errGone},
		"many kinds": {0, 1000, nil},
		"most kinds": {0, 1001, errGone},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.store("other/", "", test.entries, time.Hour)
				f.b.set("PrepareKinds", errGone)
				var m durable.Mux
				for i := range test.kinds {
					m.Handle(fmt.Sprint(i, "/"), hang, nil)
				}
				ctx, cancel := context.WithTimeout(f.t.Context(), time.Second)
				defer cancel()
				require.ErrorIs(f.t, f.WorkMux(ctx, &m), test.want)
			}, together)
		})
	}
}
