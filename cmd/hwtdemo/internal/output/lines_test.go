package output_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/output"
	"github.com/hashedwheel/hwt/internal/timertest"
)

func unexpected(t *testing.T) func(error) {
	return func(err error) { t.Errorf("unexpected: %v", err) }
}

func TestEveryLineIsWrittenInOrder(t *testing.T) {
	var text strings.Builder
	lines := output.NewLines(&text, unexpected(t))
	var want string
	for i := range 10_000 {
		line := fmt.Sprint("line ", i)
		lines.Print(line)
		want += line + "\n"
	}
	assert.NoError(t, lines.Close())
	assert.Equal(t, want, text.String())
}

func TestLinesOfManyPrintersStayWhole(t *testing.T) {
	var text strings.Builder
	lines := output.NewLines(&text, unexpected(t))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				lines.Print("abc")
			}
		})
	}
	wg.Wait()
	assert.NoError(t, lines.Close())
	assert.Equal(t, strings.Repeat("abc\n", 4000), text.String())
}

// slowWriter takes a second for each write.
type slowWriter struct{ strings.Builder }

func (w *slowWriter) Write(p []byte) (int, error) {
	time.Sleep(time.Second)
	return w.Builder.Write(p)
}

func TestPrintDoesNotWaitForTheWriter(t *testing.T) {
	timertest.Bubble(t, func(t *testing.T) {
		w := &slowWriter{}
		lines := output.NewLines(w, unexpected(t))
		began := time.Now()
		for range 100 {
			lines.Print("x")
			synctest.Wait()
		}
		assert.Zero(t, time.Since(began))
		assert.NoError(t, lines.Close())
		assert.Equal(t, 200, w.Len())
	})
}

// brokenWriter fails always, and counts how often it was tried.
type brokenWriter struct{ tried int }

func (w *brokenWriter) Write([]byte) (int, error) {
	w.tried++
	return 0, errors.New("pipe is broken")
}

func TestFirstErrorIsReportedOnceAndIsTheLastAttempt(t *testing.T) {
	failures := make(chan error, 10)
	w := &brokenWriter{}
	lines := output.NewLines(w, func(err error) { failures <- err })
	lines.Print("a")
	assert.EqualError(t, <-failures, "pipe is broken")
	lines.Print("b")
	assert.EqualError(t, lines.Close(), "pipe is broken")
	assert.Empty(t, failures)
	assert.Equal(t, 1, w.tried)
}
