package run

import (
	"context"
	"fmt"
	"time"
)

const (
	quietLoad = 0.3
	lookEvery = 10 * time.Second // at the load
	sayEvery  = time.Minute      // that the run still waits
)

// waitForQuiet waits until the machine's load is low, at most for the time given. A
// time of 0 does not wait.
func (r *runner) waitForQuiet(ctx context.Context, most time.Duration) error {
	began, said := time.Now(), time.Time{}
	for most > 0 {
		load, known := r.load()
		if !known || load < quietLoad {
			return nil
		}
		left := most - time.Since(began)
		if left <= 0 {
			r.note(fmt.Sprintf("The machine was not quiet: its load was still %.2f after %v.", load, most))
			return nil
		}
		if time.Since(said) >= sayEvery {
			said = time.Now()
			r.log("waiting for a quiet machine, at most %v: the load is %.2f and must fall below %.1f", left.Round(time.Second), load, quietLoad)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
	}
	return nil
}
