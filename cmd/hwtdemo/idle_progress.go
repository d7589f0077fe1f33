package main

import (
	"fmt"
	"io"
	"time"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/echo"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/human"
)

// wipe clears the line of a terminal and goes to its beginning.
const wipe = "\r\x1b[K"

// followShow shows the progress of a show on w until stop is called: in one line
// that changes on a terminal, in a line a second otherwise.
func followShow(s *echo.Show, w io.Writer) (stop func()) {
	began, every, before, after := time.Now(), lineEvery, "", "\n"
	if isTerminal(w) {
		every, before, after = barEvery, wipe, ""
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		look := time.NewTicker(every)
		defer look.Stop()
		for {
			select {
			case <-quit:
				fmt.Fprint(w, before)
				return
			case <-look.C:
				fmt.Fprint(w, before, progressLine(time.Since(began), s.Progress()), after)
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

func progressLine(elapsed time.Duration, p echo.Progress) string {
	line := fmt.Sprintf("%3.0fs  open %s of %s  to fall silent %s  reaped %s", elapsed.Seconds(),
		human.Count(p.Open), human.Count(p.Opened), human.Count(p.Silent), human.Count(p.Reaped))
	if p.Reaped > 0 {
		line += fmt.Sprintf("  late p50 %s  p99 %s  max %s",
			human.Duration(p.P50), human.Duration(p.P99), human.Duration(p.Max))
	}
	return line
}
