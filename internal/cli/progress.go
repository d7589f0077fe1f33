package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// terminalEvery is the interval at which the line on a terminal changes.
const terminalEvery = 100 * time.Millisecond

// wipe clears the line of a terminal. Between cut and uncut, the terminal truncates a
// long line instead of wrapping it, because wipe clears only one line.
const (
	wipe  = "\r\x1b[K"
	cut   = "\x1b[?7l"
	uncut = "\x1b[?7h"
)

// Follow repeatedly writes the elapsed time and status to w until stop is called. On a
// terminal that moves its cursor it updates one line, elsewhere it writes a new line after
// every interval.
func Follow(w io.Writer, every time.Duration, status func() string) (stop func()) {
	before, after, end := "", "\n", ""
	if movesCursor(w) {
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

// Wipe clears the line that Follow writes on a terminal, to make room for other output.
func Wipe(w io.Writer) {
	if movesCursor(w) {
		fmt.Fprint(w, wipe)
	}
}

// movesCursor reports whether w is a terminal that understands escape sequences. A terminal
// of the kind "dumb", such as an editor's, prints them.
func movesCursor(w io.Writer) bool { return IsTerminal(w) && os.Getenv("TERM") != "dumb" }
