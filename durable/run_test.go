package durable_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
)

// series returns the only series.
func (f *fixture) series() durable.Series {
	f.t.Helper()
	var all []durable.Series
	for s, err := range f.Series(f.t.Context(), "") {
		require.NoError(f.t, err)
		all = append(all, s)
	}
	require.Len(f.t, all, 1)
	return all[0]
}

func TestSeriesShowsTheLastRun(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		outcome durable.Outcome
		text    string
	}{
		"success": {nil, durable.Succeeded, ""},
		"retry":   {durable.RetryAfter(time.Hour), durable.Retried, "durable: retry after 1h0m0s"},
		"gave up": {durable.GiveUp(errors.New("no such report")), durable.GaveUp, "durable: given up: no such report"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				f.setIn("k", time.Minute, func(e *durable.Entry) { e.Every.Spec = "@every 1h" })
				f.setIn("one-shot", 24*time.Hour)
				assert.Nil(f.t, f.series().Last)
				due := f.series().Due
				defer f.work(func(context.Context, durable.Firing) error {
					time.Sleep(3 * time.Second)
					return c.err
				}, nil)()
				time.Sleep(10 * time.Minute)
				s := f.series()
				assert.Equal(f.t, "k", s.Key)
				assert.Equal(f.t, due.Add(time.Hour), s.Due)
				require.NotNil(f.t, s.Last)
				assert.WithinDuration(f.t, due, s.Last.Began, 10*time.Millisecond)
				s.Last.Began = time.Time{}
				assert.Equal(f.t, &durable.Run{Due: due, Took: 3 * time.Second, Attempt: 1, Outcome: c.outcome, Error: c.text}, s.Last)
				_, changed, err := f.Ensure(f.t.Context(), durable.Entry{Key: "k", Every: durable.Every{Spec: "@every 1h"}})
				require.NoError(f.t, err)
				assert.True(f.t, changed)
				assert.NotNil(f.t, f.series().Last, "Ensure keeps it")
			})
		})
	}
}

// A worker plans the next occurrence from its copy of the row.
func TestLastRunOutlivesOlderCopies(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.setIn("k", time.Second, func(e *durable.Entry) { e.Every.Spec = "@every 1s" })
		defer f.work(func(context.Context, durable.Firing) error { return nil }, nil)()
		for range 40 {
			time.Sleep(777 * time.Millisecond)
			if s := f.series(); s.Last != nil {
				assert.Less(t, time.Since(s.Last.Began), 1200*time.Millisecond)
			}
		}
		assert.NotNil(t, f.series().Last)
	})
}

// A handler outlasts the lease. Another worker repeats the occurrence, which fails.
func TestRejectedSuccessIsNotTheLastRun(t *testing.T) {
	inBubble(t, func(f *fixture) {
		handler := func(context.Context, durable.Firing) error {
			if len(f.firings()) == 1 {
				time.Sleep(8 * time.Second)
				return nil
			}
			return durable.RetryAfter(time.Hour)
		}
		for range 2 {
			defer f.work(handler, nil)()
		}
		f.setIn("k", time.Second, func(e *durable.Entry) { e.Every.Spec = "@every 1h" })
		time.Sleep(2 * time.Second)
		f.endLease("k")
		for range 30 {
			time.Sleep(time.Second)
			if s := f.series(); s.Last != nil {
				assert.Equal(t, durable.Retried, s.Last.Outcome)
			}
		}
		assert.Len(t, f.times(), 2)
		assert.NotNil(t, f.series().Last)
	})
}

func TestDamagedLastRunIsAnError(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for _, last := range []string{"x", "00000000 1 2 3 4 0 ", "1 2 3"} {
			_, err := f.b.Apply(f.t.Context(), []backend.Op{{Row: backend.Row{Key: "k", Due: 1 << 60, Every: "0 0 @every 1h", Last: last}}})
			require.NoError(f.t, err)
			n := 0
			for s, err := range f.Series(f.t.Context(), "k") {
				n++
				require.ErrorIs(f.t, err, durable.ErrDamaged)
				assert.Equal(f.t, "k", s.Key)
				assert.Equal(f.t, "@every 1h", s.Every.Spec)
				assert.Nil(f.t, s.Last)
			}
			assert.Equal(f.t, 1, n)
		}
	})
}
