package observe_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/memory"
	"github.com/hashedwheel/hwt/durable/observe"
	"github.com/hashedwheel/hwt/inspect"
	"github.com/hashedwheel/hwt/metrics"
)

// hung opens a store with a handler that hangs, and an entry behind it.
func hung(t *testing.T, test func(s *durable.Store)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- s.Work(ctx, func(ctx context.Context, f durable.Firing) error {
				<-ctx.Done()
				return nil
			}, &durable.WorkOptions{Concurrency: 1, DrainTimeout: -1})
		}()
		for _, key := range []string{"hangs", "waits"} {
			_, err := s.Set(t.Context(), durable.Entry{Key: key, Due: time.Now()})
			require.NoError(t, err)
		}
		time.Sleep(10 * time.Second)
		test(s.Store)
		cancel()
		require.NoError(t, <-done)
	})
}

func TestHungHandlersAreVisible(t *testing.T) {
	hung(t, func(s *durable.Store) {
		values := make(map[string]float64)
		source := observe.Metrics(s)
		read := source.Read()
		for i, d := range source.Describe() {
			values[d.Name] = read[i].Number
		}
		assert.EqualValues(t, 1, values["durable.running"])
		assert.InDelta(t, 10, values["durable.longest_running"], 0.5)
		assert.InDelta(t, 10, values["durable.overdue"], 0.5)
		blocks, err := observe.Section(s).Read(context.Background())
		require.NoError(t, err)
		var bad []string
		for _, b := range blocks {
			for _, f := range append(b.Figures, b.Bars...) {
				if f.Bad {
					bad = append(bad, f.Name)
				}
			}
		}
		assert.Equal(t, []string{"age of the backlog"}, bad)
	})
}

func TestErrorsOfTheDatabaseAreVisible(t *testing.T) {
	s, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	defer s.Close()
	read := func() (titles []string, text string) {
		blocks, err := observe.Section(s.Store).Read(t.Context())
		require.NoError(t, err)
		for _, b := range blocks {
			titles = append(titles, b.Title)
			text += fmt.Sprint(b.Figures)
		}
		return titles, text
	}
	titles, _ := read()
	assert.NotContains(t, titles, "Errors of the database")
	s.Backend().Trouble().Note(slog.New(slog.DiscardHandler), "waiting", "", errors.New("read-only server"))
	titles, text := read()
	assert.Contains(t, titles, "Errors of the database")
	assert.Contains(t, text, "read-only server")
}

func TestPausesAreVisible(t *testing.T) {
	s, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Pause(t.Context(), durable.Pause{Scope: durable.Scope{Prefix: "mail/"}, Reason: "outage", By: "me"}))
	blocks, err := observe.Section(s.Store).Read(t.Context())
	require.NoError(t, err)
	source := observe.Metrics(s.Store)
	metric := slices.IndexFunc(source.Describe(), func(d metrics.Desc) bool { return d.Name == "durable.pauses" })
	assert.EqualValues(t, 1, source.Read()[metric].Number)
	last := blocks[len(blocks)-1]
	assert.Equal(t, "Paused", last.Title)
	assert.Equal(t, "[{prefix \"mail/\", group \"\", by me outage true}]", fmt.Sprint(last.Figures))
}

func TestLastRunsOfSeriesAreVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		due := time.Now().Add(time.Minute).UTC()
		for _, e := range []durable.Entry{{Key: "a", Due: due}, {Key: "report", Every: durable.Every{Spec: "@every 1m"}}, {Key: "yearly", Every: durable.Every{Spec: "@every 9999h"}}} {
			_, err = s.Set(ctx, e)
			require.NoError(t, err)
		}
		done := make(chan error, 1)
		go func() {
			done <- s.Work(ctx, func(_ context.Context, f durable.Firing) error {
				time.Sleep(time.Second)
				return durable.GiveUp(errors.New("no paper"))
			}, nil)
		}()
		section := observe.Section(s.Store)
		read := func() (rows [][]any) {
			blocks, err := section.Read(ctx)
			require.NoError(t, err)
			for _, b := range blocks {
				if b.Title == "Series" {
					rows = b.Table.Rows
				}
			}
			return rows
		}
		require.Equal(t, [][]any{{"report", "@every 1m", due}}, read()[:1])
		time.Sleep(70 * time.Second)
		rows := read()
		require.Len(t, rows, 2)
		assert.Equal(t, []any{"report", "@every 1m", due.Add(time.Minute), due, due, time.Second, 1, "gave up", "durable: given up: no paper"}, rows[0])
		assert.Len(t, rows[1], 3, "yearly has not run")
		cancel()
		require.NoError(t, <-done)
	})
}

func TestPostponedAttemptsAreVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		defer s.Close()
		_, err = s.Set(t.Context(), durable.Entry{Key: "mail/1", Due: time.Now()})
		require.NoError(t, err)
		var m durable.Mux
		m.Handle("mail/", func(context.Context, durable.Firing) error { return durable.Postpone(time.Hour) }, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.WorkMux(ctx, &m) }()
		time.Sleep(time.Minute)
		blocks, err := observe.Section(s.Store).Read(ctx)
		require.NoError(t, err)
		cancel()
		require.NoError(t, <-done)
		store, kinds := blocks[2], blocks[3]
		assert.Contains(t, store.Figures, inspect.Figure{Name: "postponed", Value: int64(1)})
		column := slices.Index(kinds.Table.Columns, "postponed")
		require.GreaterOrEqual(t, column, 0)
		assert.Equal(t, int64(1), kinds.Table.Rows[0][column])
	})
}

func TestLimitsAreVisible(t *testing.T) {
	s, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Limit(t.Context(), durable.Scope{Group: "tenant"}, durable.Limit{Running: 4, PerSecond: 0.5}))
	blocks, err := observe.Section(s.Store).Read(t.Context())
	require.NoError(t, err)
	last := blocks[len(blocks)-1]
	assert.Equal(t, "Limits", last.Title)
	assert.Equal(t, [][]any{{"", "tenant", 4, 0.5, 1, 0, 0}}, last.Table.Rows)
}

func TestMetricsOfNoStoreAreNil(t *testing.T) {
	require.Equal(t, metrics.Source(nil), observe.Metrics(nil))
}

// Prometheus names metrics by unit and kind.
func TestAlertsNameExistingMetrics(t *testing.T) {
	s, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	defer s.Close()
	names := make(map[string]bool)
	for _, d := range observe.Metrics(s.Store).Describe() {
		name := "hwt_" + strings.ReplaceAll(d.Name, ".", "_")
		if d.Unit != "" {
			name += "_" + d.Unit
		}
		if d.Kind == metrics.Counter {
			name += "_total"
		}
		names[name] = true
	}
	text, err := os.ReadFile("alerts.yml")
	require.NoError(t, err)
	for _, name := range regexp.MustCompile(`hwt_durable_[a-z_]+`).FindAllString(string(text), -1) {
		assert.Contains(t, names, name)
	}
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed (Debian package prometheus)")
	}
	out, err := exec.CommandContext(t.Context(), "promtool", "check", "rules", "alerts.yml").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestKindsAreVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		var m durable.Mux
		m.Handle("hangs/", func(ctx context.Context, f durable.Firing) error {
			<-ctx.Done()
			return nil
		}, &durable.WorkOptions{DrainTimeout: -1})
		m.Handle("other/", func(context.Context, durable.Firing) error { return nil }, &durable.WorkOptions{DrainTimeout: -1})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.WorkMux(ctx, &m) }()
		_, err = s.Set(t.Context(), durable.Entry{Key: "hangs/1", Due: time.Now()})
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		for pattern, running := range map[string]float64{"hangs/": 1, "other/": 0, "unknown/": 0} {
			source := observe.KindMetrics(s.Store, pattern)
			read := source.Read()
			names := make(map[string]float64)
			for i, d := range source.Describe() {
				names[d.Name] = read[i].Number
			}
			assert.Len(t, names, 9)
			assert.Equal(t, running, names["durable.running"], pattern)
			assert.Equal(t, running, names["durable.fired"], pattern)
		}
		blocks, err := observe.Section(s.Store).Read(t.Context())
		require.NoError(t, err)
		table := blocks[3].Table
		require.Len(t, table.Rows, 2)
		assert.Equal(t, []any{"hangs/", int64(1), int64(1)}, table.Rows[0][:3])
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, s.Close())
	})
}
