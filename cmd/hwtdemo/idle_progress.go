package main

import (
	"fmt"
	"io"
	"time"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/echo"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/human"
)

// wipe clears the line of a terminal and goes to its beginning. Between cut and
// uncut a line that is too long for the terminal is cut, not continued below,
// where wipe would not find its beginning.
const (
	wipe  = "\r\x1b[K"
	cut   = "\x1b[?7l"
	uncut = "\x1b[?7h"
)

// followShow shows the progress of a show on w until stop is called: in one line
// that changes on a terminal, in a line a second otherwise.
func followShow(s *echo.Show, w io.Writer) (stop func()) {
	began, every, before, after, end := time.Now(), lineEvery, "", "\n", ""
	if isTerminal(w) {
		every, before, after, end = barEvery, wipe+cut, uncut, wipe
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		look := time.NewTicker(every)
		defer look.Stop()
		for {
			select {
			case <-quit:
				fmt.Fprint(w, end)
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

// progressLine tells how many are open, how many are reaped of those that are to
// fall silent, and how late. With 10,000 connections it fits into 80 columns.
func progressLine(elapsed time.Duration, p echo.Progress) string {
	line := fmt.Sprintf("%3.0fs  open %s  reaped %s of %s", elapsed.Seconds(),
		human.Count(p.Open), human.Count(p.Reaped), human.Count(p.Silent))
	if p.Reaped > 0 {
		line += fmt.Sprintf("  late p50 %s  p99 %s  max %s",
			human.Duration(p.P50), human.Duration(p.P99), human.Duration(p.Max))
	}
	return line
}
