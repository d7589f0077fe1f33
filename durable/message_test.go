package durable

import (
	"math"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAVersionIsReadAsItWasWritten(t *testing.T) {
	for _, want := range []version{
		{id: id{1, "a", 5}, due: 17, payload: []byte("p"), attempt: 1},
		{id: id{1, "a", 5}, due: math.MaxInt64, payload: []byte{}, attempt: 3, first: 4},
		{id: id{1, "a", 5}, due: 17, attempt: 1, every: Every{Spec: "@every 5m", Missed: MissedAll}},
		{id: id{1, "a", 5}, due: 17, attempt: 1, every: Every{Schedule: "with words", Missed: MissedSkip}},
	} {
		got, err := parseVersion(want.id, want.header(), want.payload)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestABrokenHeaderIsNamed(t *testing.T) {
	good := version{id: id{1, "a", 5}, due: 17, attempt: 2, first: 4, every: Every{Spec: "@every 5m"}}
	for _, name := range []string{headerDue, headerFirst, headerAttempt, headerEvery} {
		h := good.header()
		h[name] = []string{"x"}
		_, err := parseVersion(good.id, h, nil)
		assert.ErrorContains(t, err, name)
	}
}

func TestAnAttemptBelowOneIsTheFirst(t *testing.T) {
	for _, text := range []string{"0", "-3"} {
		v, err := parseVersion(id{1, "a", 5}, nats.Header{headerDue: {"17"}, headerAttempt: {text}}, nil)
		require.NoError(t, err)
		assert.Equal(t, 1, v.attempt)
	}
}

func TestAGenerationIsLargerThanTheOneBefore(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, previous := range []uint64{0, 17, uint64(now.UnixNano()), uint64(now.UnixNano()) + 1<<40} {
		for range 100 {
			assert.Greater(t, generation(now, previous), previous)
		}
	}
	assert.Less(t, generation(time.Unix(-1, 0), 0), uint64(2048), "a clock before 1970")
}

func TestAnIDIsTheSameForAllAttempts(t *testing.T) {
	first := version{id: id{1, "a", 5}, attempt: 1}
	retry := version{id: id{1, "a", 9}, attempt: 2, first: 5}
	ofOccurrence := version{id: id{1, "a~5", 9}, attempt: 2, first: 5}
	assert.Equal(t, "a.5", first.firingID())
	assert.Equal(t, "a.5", retry.firingID())
	assert.Equal(t, "a.5", ofOccurrence.firingID())
	assert.Equal(t, "a.9", version{id: id{1, "a", 9}, attempt: 1}.firingID())
}
