package durable

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/durable/backend"
)

func TestRecurrenceSurvivesItsColumns(t *testing.T) {
	for name, e := range map[string]Every{
		"none":                   {},
		"a spec":                 {Spec: "@every 5m"},
		"a spec with spaces":     {Spec: "CRON_TZ=Europe/Berlin 30 9 * * 1-5"},
		"a schedule":             {Schedule: "a 1:2 b"},
		"missed occurrences":     {Spec: "@hourly", Missed: clock.Missed{MaxRuns: 7, MaxLateness: time.Hour}},
		"queued occurrences":     {Spec: "@hourly", Overlap: clock.OverlapQueueOne},
		"concurrent occurrences": {Schedule: "s", Overlap: clock.OverlapParallel, Missed: clock.Missed{MaxLateness: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			every, schedule := e.encode()
			decoded, err := decodeEvery(every, schedule)
			require.NoError(t, err)
			require.Equal(t, e, decoded)
		})
	}
}

func TestMalformedRecurrenceIsDamage(t *testing.T) {
	for _, every := range []string{" ", "1", "1 2", "x 0 @hourly", "0 x @hourly", "0:x 0 @hourly", "0: 0 @hourly", "0:300 0 @hourly"} {
		t.Run(every, func(t *testing.T) {
			_, err := entryOf(&backend.Row{Key: "k", Every: every})
			require.ErrorIs(t, err, ErrDamaged)
		})
	}
}

// A planner would run code of users for each of a million plain rows.
func TestPlainRowNeedsNoPlanner(t *testing.T) {
	w := newTestWorker(t)
	plain := &flight{row: backend.Row{Key: "k", Generation: 3}, kind: w.dispatchers[0].kind}
	planner := w.claimer.planner
	w.claimer.planner = nil
	require.True(t, w.claimer.plan(plain))
	require.Equal(t, backend.Claim{Ref: plain.row.Ref()}, plain.claim)
	w.claimer.planner = planner
	for name, h := range map[string]*flight{
		"serial":    {row: plain.row, kind: &kind{options: WorkOptions{Serial: true}}},
		"recurring": {row: backend.Row{Key: "k", Every: "0 0 @every 1h", Due: time.Now().UnixNano()}, kind: plain.kind},
	} {
		t.Run(name, func(t *testing.T) {
			require.True(t, w.claimer.plan(h))
			require.Equal(t, backend.Wait, h.claim.Busy)
			require.Equal(t, name == "recurring", h.claim.Next != nil)
		})
	}
}
