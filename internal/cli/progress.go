package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// terminalEvery is how often the line on a terminal changes.
const terminalEvery = 100 * time.Millisecond

// wipe clears the line of a terminal. Between cut and uncut, the terminal cuts a
// long line instead of continuing it below, where wipe would not reach it.
const (
	wipe  = "\r\x1b[K"
	cut   = "\x1b[?7l"
	uncut = "\x1b[?7h"
)

// Follow writes the time that has passed, and status, to w again and again until
// stop is called. On a terminal it is one line that changes, elsewhere a new line after
// every interval.
func Follow(w io.Writer, every time.Duration, status func() string) (stop func()) {
	before, after, end := "", "\n", ""
	if IsTerminal(w) {
		every, before, after, end = terminalEvery, wipe+cut, uncut, wipe
	}
	began, quit, done := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				fmt.Fprint(w, end)
				return
			case <-tick.C:
				fmt.Fprintf(w, "%s%3.0fs  %s%s", before, time.Since(began).Seconds(), status(), after)
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// IsTerminal reports whether stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Wipe clears the line that Follow writes on a terminal, so that a line of another kind
// may come between.
func Wipe(w io.Writer) {
	if IsTerminal(w) {
		fmt.Fprint(w, wipe)
	}
}
