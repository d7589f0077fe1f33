package durable_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

// A token that is not used in its window is lost. Rows and handlers must come in time.
func TestRatesAreReached(t *testing.T) {
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		all, tenant durable.Limit
		busy        int           // handlers of other tenants, a second each
		takes       time.Duration // a handler of the tenant
		wait        time.Duration
		least       int
	}{
		"burst of a low rate":              {tenant: durable.Limit{PerSecond: 5 / day.Seconds(), Burst: 5}, wait: time.Minute, least: 5},
		"burst of long handlers":           {tenant: durable.Limit{PerSecond: 1, Burst: 100}, takes: time.Hour, wait: 10 * time.Second, least: 109},
		"two rates":                        {all: durable.Limit{PerSecond: 1}, tenant: durable.Limit{PerSecond: 0.5}, wait: 200 * time.Second, least: 55},
		"two low rates":                    {all: durable.Limit{PerSecond: 0.1}, tenant: durable.Limit{PerSecond: 0.05}, wait: 800 * time.Second, least: 35},
		"two rates at times of their own":  {all: durable.Limit{PerSecond: 5}, tenant: durable.Limit{PerSecond: 1}, wait: 100 * time.Second, least: 90},
		"two bursts":                       {all: durable.Limit{PerSecond: 5, Burst: 5}, tenant: durable.Limit{PerSecond: 1, Burst: 5}, wait: 100 * time.Second, least: 100},
		"rates of different sizes":         {all: durable.Limit{PerSecond: 100}, tenant: durable.Limit{PerSecond: 1}, wait: 100 * time.Second, least: 90},
		"low rate beside a tenant at work": {tenant: durable.Limit{PerSecond: 1. / 60}, busy: 1, wait: 7 * time.Minute, least: 6},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				ctx, g := f.t.Context(), newGauge()
				if c.all.PerSecond != 0 {
					require.NoError(t, f.Limit(ctx, durable.Scope{All: true}, c.all))
				}
				require.NoError(t, f.Limit(ctx, durable.Scope{Group: "tenant"}, c.tenant))
				f.fill("mail", "tenant", 200)
				concurrency := 500
				if c.busy > 0 {
					concurrency = c.busy
					f.fill("other", "other", c.busy*int(c.wait/time.Second))
				}
				mail, other := g.handler(c.takes), g.handler(time.Second+7*time.Millisecond)
				defer f.work(func(ctx context.Context, firing durable.Firing) error {
					if strings.HasPrefix(firing.Key, "mail/") {
						return mail(ctx, firing)
					}
					return other(ctx, firing)
				}, &durable.WorkOptions{Concurrency: concurrency, DrainTimeout: -1})()
				time.Sleep(c.wait)
				assert.GreaterOrEqual(t, g.count("mail"), c.least)
			})
		})
	}
}

func TestEntryThatWaitsForALowRateCanBeCancelled(t *testing.T) {
	inBubble(t, func(f *fixture) {
		ctx := f.t.Context()
		require.NoError(t, f.Limit(ctx, durable.Scope{All: true}, durable.Limit{PerSecond: 1e-4}))
		defer f.work(nil, nil)()
		for i := range 4 {
			f.setIn(fmt.Sprint("k", i), 0)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Hour)
		require.Len(t, f.times(), 1)
		for i := range 3 {
			_, err := f.Cancel(ctx, fmt.Sprint("k", i+1))
			require.NoError(t, err)
		}
	})
}

// The rows of a tenant that waits for a day keep no room, token, or permit from others.
func TestLowRateDelaysNoOtherRow(t *testing.T) {
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		all       durable.Limit
		takes     time.Duration
		least     int // handlers of others in ten minutes
		mailFirst bool
	}{
		"under a rate for all":  {durable.Limit{PerSecond: 0.5}, 0, 250, true},
		"under a limit for all": {durable.Limit{Running: 1}, 30 * time.Second, 18, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				ctx, g := f.t.Context(), newGauge()
				require.NoError(t, f.Limit(ctx, durable.Scope{All: true}, c.all))
				require.NoError(t, f.Limit(ctx, durable.Scope{Prefix: "mail/"}, durable.Limit{PerSecond: 1 / day.Seconds()}))
				if f.fill("other", "first", 1); c.mailFirst {
					f.fill("mail", "", 300)
				}
				f.fill("other", "", 300)
				f.fill("mail", "tenant", 3)
				defer f.work(g.handler(c.takes), &durable.WorkOptions{DrainTimeout: -1})()
				time.Sleep(10 * time.Minute)
				assert.GreaterOrEqual(t, g.count("other"), c.least)
			})
		})
	}
}
