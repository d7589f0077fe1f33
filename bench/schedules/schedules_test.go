package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSpecIsRightInAllCases(t *testing.T) {
	for _, e := range examples {
		assert.Equal(t, e.right(), e.answer(specTimes), e.name)
	}
}

func TestEachLibraryRunsItsJobs(t *testing.T) {
	for _, r := range rivals {
		ran := make(chan struct{}, 1)
		stop, err := r.start([]string{"* * * * * *"}, func() {
			select {
			case ran <- struct{}{}:
			default:
			}
		})
		if assert.NoError(t, err, r.name) {
			<-ran
			stop()
		}
	}
}

func TestTableHasAColumnForEachLibrary(t *testing.T) {
	defer func(all time.Duration) { patience = all }(patience)
	patience = 100 * time.Millisecond // The answers do not matter here.
	var page strings.Builder
	writeCases(&page)
	assert.Equal(t, len(examples)+2, strings.Count(page.String(), "\n|"))
	for line := range strings.Lines(page.String()) {
		if strings.HasPrefix(line, "|") {
			assert.Equal(t, len(sides)+5, strings.Count(line, "|"), line)
		}
	}
}
