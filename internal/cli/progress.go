package cli

import (
	"fmt"
	"io"
	"time"
)

// Follow writes a line with the elapsed time and the status to w at every interval, until stop
// is called.
func Follow(w io.Writer, every time.Duration, status func() string) (stop func()) {
	began, quit, done := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				fmt.Fprintf(w, "%3.0fs  %s\n", time.Since(began).Seconds(), status())
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
