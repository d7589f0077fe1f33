package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/internal/structure"
)

// maxHotFiles bounds the files that a reader of the hot path must open.
const maxHotFiles = 16

// hotBody schedules one function that runs and one that is cancelled. Only the code that
// runs in between is counted: not New, Start, or the worker's first sleep.
const hotBody = `
	timer, err := hashedwheel.New(nil)
	check(err)
	timer.Start()
	clear()
	ran := make(chan struct{})
	_, err = timer.AfterFunc(50*time.Millisecond, func() { close(ran) })
	check(err)
	<-ran
	timeout, err := timer.AfterFunc(time.Hour, func() {})
	check(err)
	timeout.Cancel()
	time.Sleep(300 * time.Millisecond) // until the worker sleeps
`

// The real clock, because the program is another process.
func TestTheHotPathIsInFewFiles(t *testing.T) {
	hot := structure.HotFiles(t, maxHotFiles, `"github.com/hashedwheel/hwt/hashedwheel"`, hotBody)
	assert.LessOrEqual(t, len(hot), maxHotFiles)
	assert.Contains(t, hot, "internal/engine/timeout.go", "the counters work")
}
