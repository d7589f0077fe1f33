package engine

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSixtyFifthLiveTimerGivesTheOneWarning(t *testing.T) {
	before := live.Swap(0)
	warnedOnce = sync.Once{}
	t.Cleanup(func() { live.Store(before) })

	warnings := 0
	warn := func(string, ...any) { warnings++ }
	for range tooMany {
		countInstance(warn)
	}
	assert.Zero(t, warnings, "%d are fine", tooMany)
	for range 3 {
		countInstance(warn)
	}
	assert.Equal(t, 1, warnings)
}
