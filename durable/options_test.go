package durable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

const day = 24 * time.Hour

func TestOptionsHaveRanges(t *testing.T) {
	for _, c := range []struct {
		field  string
		option durable.Options
		ok     bool
		says   string
	}{
		{field: "Lease", option: durable.Options{Lease: time.Second}, ok: true},
		{field: "Lease", option: durable.Options{Lease: 10 * time.Minute}, ok: true},
		{field: "Lease", option: durable.Options{Lease: time.Second - 1}, says: "Options.Lease: 999.999999ms (expected: 0 for the default, or 1s to 10m)"},
		{field: "Lease", option: durable.Options{Lease: 10*time.Minute + 1}, says: "Options.Lease: 10m0.000000001s (expected: 0"},
		{field: "Lease", option: durable.Options{Lease: -1}, says: "Options.Lease: -1ns"},
		{field: "KeepDead", option: durable.Options{KeepDead: time.Minute}, ok: true},
		{field: "KeepDead", option: durable.Options{KeepDead: 3650 * day}, ok: true},
		{field: "KeepDead", option: durable.Options{KeepDead: time.Minute - 1}, says: "Options.KeepDead: 59.999999999s (expected: 0 for no limit, or 1m to 87600h)"},
		{field: "KeepDead", option: durable.Options{KeepDead: 3650*day + 1}, says: "Options.KeepDead: 87600h0m0.000000001s"},
		{field: "Paused", option: durable.Options{Paused: strings.Repeat("x", 1024)}, ok: true},
		{field: "Paused", option: durable.Options{Paused: strings.Repeat("x", 1025)}, says: "of 1025 bytes (expected: up to 1024 bytes)"},
	} {
		t.Run(fmt.Sprintf("%s/%.40v", c.field, c.option), func(t *testing.T) {
			s, err := durable.New(t.Context(), memdb.New(), &c.option)
			if c.ok {
				require.NoError(t, err)
				require.NoError(t, s.Close())
				return
			}
			require.ErrorIs(t, err, durable.ErrInvalid)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestNilScheduleIsInvalid(t *testing.T) {
	inBubble(t, func(f *fixture) {
		err := f.Work(f.t.Context(), func(context.Context, durable.Firing) error { return nil },
			&durable.WorkOptions{Schedules: map[string]clock.Schedule{"sun": nil}})
		require.ErrorIs(t, err, durable.ErrInvalid)
		require.ErrorContains(t, err, `WorkOptions.Schedules: "sun": nil (expected: a schedule)`)
	})
}

func TestWorkOptionsHaveRanges(t *testing.T) {
	for says, c := range map[string]struct{ first, last, low, high durable.WorkOptions }{
		"Concurrency: %v (expected: 0 for the default, or 1 to 100000)": {
			durable.WorkOptions{Concurrency: 1}, durable.WorkOptions{Concurrency: 100_000}, durable.WorkOptions{Concurrency: -1}, durable.WorkOptions{Concurrency: 100_001}},
		"MaxHeld: %v (expected: 0 for the default, or 1 to 10000000)": {
			durable.WorkOptions{MaxHeld: 1}, durable.WorkOptions{MaxHeld: 10_000_000}, durable.WorkOptions{MaxHeld: -1}, durable.WorkOptions{MaxHeld: 10_000_001}},
		"Timeout: %v (expected: 0 for no limit, or 1ms to 8760h)": {
			durable.WorkOptions{Timeout: time.Millisecond}, durable.WorkOptions{Timeout: 365 * day}, durable.WorkOptions{Timeout: time.Millisecond - 1}, durable.WorkOptions{Timeout: 365*day + 1}},
		"BaseBackoff: %v (expected: 0 for the default, or up to 24h)": {
			durable.WorkOptions{BaseBackoff: 1}, durable.WorkOptions{BaseBackoff: day}, durable.WorkOptions{BaseBackoff: -1}, durable.WorkOptions{BaseBackoff: day + 1}},
		"MaxBackoff: %v (expected: 0 for the default, or BaseBackoff to 8760h)": {
			durable.WorkOptions{MaxBackoff: time.Second}, durable.WorkOptions{MaxBackoff: 365 * day}, durable.WorkOptions{MaxBackoff: time.Second - 1}, durable.WorkOptions{MaxBackoff: 365*day + 1}},
	} {
		field, _, _ := strings.Cut(says, ":")
		for name, o := range map[string]durable.WorkOptions{"first": c.first, "last": c.last, "low": c.low, "high": c.high} {
			t.Run(field+"/"+name, func(t *testing.T) {
				inBubble(t, func(f *fixture) {
					ctx, cancel := context.WithCancel(f.t.Context())
					cancel()
					err := f.Work(ctx, hang, &o)
					if name == "first" || name == "last" {
						require.NoError(t, err)
						return
					}
					require.ErrorIs(t, err, durable.ErrInvalid)
					require.ErrorContains(t, err, "WorkOptions."+field+": ")
					require.ErrorContains(t, err, says[strings.Index(says, "("):])
				})
			})
		}
	}
}

func TestConcurrencyBoundsHandlers(t *testing.T) {
	for _, c := range []struct{ option, want int }{{0, 64}, {1, 1}, {7, 7}} {
		t.Run(fmt.Sprint(c.option), func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				var running, most atomic.Int64
				end := f.work(func(context.Context, durable.Firing) error {
					most.Store(max(most.Load(), running.Add(1)))
					time.Sleep(time.Second)
					running.Add(-1)
					return nil
				}, &durable.WorkOptions{Concurrency: c.option})
				for i := range 150 {
					f.setIn(fmt.Sprint(i), 0)
				}
				time.Sleep(500 * time.Millisecond)
				assert.EqualValues(t, c.want, f.stats().Running)
				time.Sleep(160 * time.Second)
				end()
				assert.Len(t, f.times(), 150)
				assert.EqualValues(t, c.want, most.Load())
			})
		})
	}
}

func TestAttemptsEndAtMaxAttempts(t *testing.T) {
	for _, c := range []struct{ option, fired, dead int }{{0, 25, 1}, {1, 1, 1}, {3, 3, 1}, {-1, 100, 0}} {
		t.Run(fmt.Sprint(c.option), func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				end := f.work(func(_ context.Context, firing durable.Firing) error {
					if firing.Attempt == 100 {
						return nil
					}
					return errors.New("no")
				}, &durable.WorkOptions{MaxAttempts: c.option, MaxBackoff: time.Second})
				f.setIn("k", 0)
				time.Sleep(10 * time.Minute)
				end()
				assert.Len(t, f.times(), c.fired)
				assert.Len(t, f.dead(), c.dead)
				assert.Empty(t, f.keys())
			})
		})
	}
}

// A pause is random between 0 and BaseBackoff times 2^(n-1), up to MaxBackoff.
func TestPausesBetweenAttemptsGrow(t *testing.T) {
	for name, c := range map[string]struct {
		options durable.WorkOptions
		most    []time.Duration // pauses after the attempts
	}{
		"defaults": {durable.WorkOptions{}, seconds(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600)},
		"both":     {durable.WorkOptions{BaseBackoff: time.Minute, MaxBackoff: 3 * time.Minute}, seconds(60, 120, 180, 180)},
		"long":     {durable.WorkOptions{BaseBackoff: time.Hour}, seconds(3600, 3600, 3600)},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				end := f.work(func(context.Context, durable.Firing) error { return errors.New("no") }, &c.options)
				f.setIn("k", 0)
				for len(f.times()) <= len(c.most) {
					time.Sleep(10 * time.Second)
				}
				end()
				sum := time.Duration(0)
				for i, most := range c.most {
					pause := f.firings()[i+1].Due.Sub(f.firings()[i].Due)
					sum += pause
					assert.LessOrEqual(t, pause, most+time.Second, "after attempt %d", i+1)
				}
				assert.Positive(t, sum)
			})
		})
	}
}

// All kinds have the time of the longest DrainTimeout.
func TestLongestDrainTimeoutCounts(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var m durable.Mux
		m.Handle("short/", hang, &durable.WorkOptions{DrainTimeout: -1})
		m.Handle("long/", hang, &durable.WorkOptions{DrainTimeout: time.Minute})
		end := f.workMux(&m)
		f.setIn("short/1", 0)
		f.setIn("long/1", 0)
		time.Sleep(time.Second)
		begun := time.Now()
		end()
		assert.Equal(t, time.Minute, time.Since(begun).Truncate(time.Second))
	})
}

// Each entry fires in one of the Works, in two stores of one database.
func TestWorksShareTheEntries(t *testing.T) {
	inBubble(t, func(f *fixture) {
		other, err := durable.New(f.t.Context(), f.b, nil)
		require.NoError(t, err)
		var mu sync.Mutex
		fired := map[string]int{}
		handler := func(context.Context, durable.Firing) error { return nil }
		note := func(work string) durable.Handler {
			return func(ctx context.Context, firing durable.Firing) error {
				mu.Lock()
				defer mu.Unlock()
				fired[firing.Key]++
				fired[work]++
				return handler(ctx, firing)
			}
		}
		ctx, cancel := context.WithCancel(f.t.Context())
		var works sync.WaitGroup
		for name, s := range map[string]*durable.Store{"work a": f.Store, "work b": f.Store, "work c": other} {
			works.Go(func() { assert.NoError(t, s.Work(ctx, note(name), nil)) })
		}
		synctest.Wait()
		for i := range 300 {
			f.setIn(fmt.Sprint(i), time.Duration(i)*10*time.Millisecond)
		}
		time.Sleep(time.Minute)
		cancel()
		works.Wait()
		mu.Lock()
		defer mu.Unlock()
		for i := range 300 {
			assert.Equal(t, 1, fired[fmt.Sprint(i)], i)
		}
		for _, name := range []string{"work a", "work b"} {
			assert.Positive(t, fired[name], name)
		}
	})
}

func TestStoreHasAName(t *testing.T) {
	for option, want := range map[string]string{"": "timers", "orders": "orders"} {
		t.Run(want, func(t *testing.T) {
			s, err := durable.New(t.Context(), memdb.New(), &durable.Options{Name: option})
			require.NoError(t, err)
			defer s.Close()
			assert.Equal(t, want, s.Name())
		})
	}
}
