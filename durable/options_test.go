package durable

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOptionsOutOfRangeAreNamed(t *testing.T) {
	for want, o := range map[string]*Options{
		`durable: Options.Name: "a b" (expected: 1 to 32 letters, digits, "-" and "_")`:  {Name: "a b"},
		"durable: Options.Replicas: 2 (expected: 0 for the default, or 1, 3 or 5)":       {Replicas: 2},
		"durable: Options.Shards: 257 (expected: 0 for the default, or 1 to 256)":        {Shards: 257},
		"durable: Options.Lead: 1ms (expected: 0 for the default, or 1s to 10m)":         {Lead: time.Millisecond},
		"durable: Options.MaxBytes: -1 (expected: 0 for no limit, or 1 or more)":         {MaxBytes: -1},
		"durable: Options.MaxLeased: -1 (expected: 0 for the default, or 1 to 10000000)": {MaxLeased: -1},
		"durable: Options.Timeout: 1ms (expected: 0 for the default, or 100ms to 1m)":    {Timeout: time.Millisecond},
	} {
		_, err := o.complete()
		assert.EqualError(t, err, want)
	}
	for want, o := range map[string]*WorkOptions{
		"durable: WorkOptions.Concurrency: -1 (expected: 0 for the default, or 1 to 100000)":         {Concurrency: -1},
		"durable: WorkOptions.MaxHeld: -1 (expected: 0 for the default, or 1 to 10000000)":           {MaxHeld: -1},
		"durable: WorkOptions.MinBackoff: -1s (expected: 0 for the default, or up to 24h)":           {MinBackoff: -time.Second},
		"durable: WorkOptions.MaxBackoff: 1ms (expected: 0 for the default, or MinBackoff to 8760h)": {MaxBackoff: time.Millisecond},
	} {
		_, err := o.complete()
		assert.EqualError(t, err, want)
	}
}

func TestDefaults(t *testing.T) {
	o, err := (*Options)(nil).complete()
	require.NoError(t, err)
	assert.Equal(t, "timers", o.Name)
	assert.Equal(t, layout{4, 1, 10 * time.Second, 0}, o.layout())
	assert.Equal(t, layout{16, 3, 10 * time.Second, 0}, Options{Replicas: 3}.layout())
	assert.Equal(t, 100*time.Millisecond, streamConfig(names{"a"}, o.layout(), 0).Duplicates, "a start reads the window")
}

func TestBackoffIsFullJitterUpToItsLimits(t *testing.T) {
	o, err := (&WorkOptions{MinBackoff: time.Second, MaxBackoff: 10 * time.Second, MaxAttempts: 100}).complete()
	require.NoError(t, err)
	fail := errors.New("no")
	for attempt, most := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 99: 10 * time.Second} {
		seen := map[bool]bool{}
		for range 200 {
			d, again := o.backoff(attempt, fail)
			require.True(t, again)
			assert.LessOrEqual(t, d, most)
			seen[d > most/2] = true
		}
		assert.Len(t, seen, 2, "attempt %d: both halves", attempt)
	}
	_, again := o.backoff(100, fail)
	assert.False(t, again)
	_, again = o.backoff(1, fmt.Errorf("wrapped: %w", GiveUp(fail)))
	assert.False(t, again)
	d, again := o.backoff(1, fmt.Errorf("wrapped: %w", RetryAfter(time.Hour)))
	assert.True(t, again)
	assert.Equal(t, time.Hour, d)
	o.MaxAttempts = -1
	_, again = o.backoff(1000000, fail)
	assert.True(t, again)
}

func TestBackoffStaysInItsRangeAtAnyAttempt(t *testing.T) {
	for _, least := range []time.Duration{1, time.Second, 5 * time.Second, time.Hour, 24 * time.Hour} {
		o, err := (&WorkOptions{MinBackoff: least, MaxAttempts: -1}).complete()
		require.NoError(t, err)
		for attempt := 1; attempt < 100; attempt++ {
			d, _ := o.backoff(attempt, errors.New("no"))
			require.GreaterOrEqual(t, d, time.Duration(0))
			require.LessOrEqual(t, d, o.MaxBackoff)
		}
	}
}

func TestTheGuardRefusesFromFourFifthsOn(t *testing.T) {
	for used, full := range map[int64]bool{0: false, 799: false, 800: true, 2000: true} {
		g := &guard{}
		g.used.Store(used)
		g.most.Store(1000)
		err := g.admit()
		assert.Equal(t, full, errors.Is(err, ErrFull), "%d", used)
	}
	g := &guard{}
	g.used.Store(1 << 40)
	assert.NoError(t, g.admit(), "no limit")
}
