package enginekit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// flag is the bit that belongs to the engine.
const flag = 1

func TestWordKeepsItsDeadlineAndHasOneEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		deadline := rapid.Int64Range(0, Forever-1).Draw(t, "deadline")
		for _, pending := range []Word{PendingWord(deadline), PendingWord(deadline) | flag} {
			for w, ends := range map[Word][3]bool{
				pending:             {false, false, false},
				pending.Cancelled(): {true, true, false},
				pending.Expired():   {true, false, true},
			} {
				assert.Equal(t, deadline, w.Deadline())
				assert.Equal(t, ends, [3]bool{w.HasEnded(), w.IsCancelled(), w.IsExpired()})
				assert.Equal(t, pending&flag, w&flag)
			}
		}
	})
}

func TestUnarmedWordHasEndedInNoWay(t *testing.T) {
	assert.Equal(t, [3]bool{true, false, false}, [3]bool{Unarmed.HasEnded(), Unarmed.IsCancelled(), Unarmed.IsExpired()})
	assert.Equal(t, int64(Forever), Unarmed.Deadline())
	assert.True(t, PendingWord(Forever).Cancelled().IsCancelled())
}

func TestDescriptionNamesDeadlineEndAndTask(t *testing.T) {
	at := PendingWord(int64(5 * time.Second))
	for want, got := range map[string]string{
		"timeout(in 5s, task *enginekit.notifier)":           at.Describe(0, new(notifier)),
		"timeout(5s ago, expired, task *enginekit.notifier)": at.Expired().Describe(int64(10*time.Second), new(notifier)),
		"timeout(now, cancelled, task *enginekit.notifier)":  at.Cancelled().Describe(int64(5*time.Second), new(notifier)),
		"timeout(never, task *enginekit.notifier)":           PendingWord(Forever).Describe(0, new(notifier)),
		"timeout(unarmed, task *enginekit.notifier)":         Unarmed.Describe(0, new(notifier)),
		"timeout(in 5s, task <nil>)":                         (at | flag).Describe(0, nil),
	} {
		assert.Equal(t, want, got)
	}
}
