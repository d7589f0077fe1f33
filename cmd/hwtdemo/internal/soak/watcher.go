package soak

import (
	"fmt"
	"runtime"
	"time"

	"github.com/hashedwheel/hwt"
)

// statsWatcher checks the counts of a timer while it is used.
type statsWatcher struct {
	last  hwt.Stats
	looks int64
	peak  int64  // the most goroutines
	fault string // the first one, if any

	quit, done chan struct{}
}

// lookEvery is the time between two looks.
const lookEvery = time.Millisecond

// watchStats watches timer until stop is called.
func watchStats(timer hwt.Engine) *statsWatcher {
	w := &statsWatcher{quit: make(chan struct{}), done: make(chan struct{})}
	w.look(timer.Stats(), timer.Pending())
	go func() {
		defer close(w.done)
		pause := time.NewTicker(lookEvery)
		defer pause.Stop()
		for {
			select {
			case <-pause.C:
			case <-w.quit:
				return
			}
			w.look(timer.Stats(), timer.Pending())
		}
	}()
	return w
}

// stop ends the watching. The results may be read afterwards.
func (w *statsWatcher) stop() {
	close(w.quit)
	<-w.done
}

// look notes a fault if more timeouts have ended than were accepted, or a count
// of ends fell. Accepted may fall: a rejection by Stop lowers it.
func (w *statsWatcher) look(now hwt.Stats, pending int64) {
	w.looks++
	w.peak = max(w.peak, int64(runtime.NumGoroutine()))
	ends := now.Expired + now.Cancelled + now.Unprocessed
	fell := now.Expired < w.last.Expired || now.Cancelled < w.last.Cancelled || now.Unprocessed < w.last.Unprocessed
	switch {
	case w.fault != "":
	case ends > now.Accepted || now.Pending != now.Accepted-ends || pending < 0:
		w.fault = fmt.Sprintf("during the round %d were pending, and the counts were %+v", pending, now)
	case fell:
		w.fault = fmt.Sprintf("during the round a count fell: %+v, and before %+v", now, w.last)
	}
	w.last = now
}
