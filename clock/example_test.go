package clock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
)

func newClock() (*clock.Clock, func()) {
	timer, err := hashedwheel.New(hashedwheel.WithTickDuration(10 * time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	return clock.New(timer), func() { timer.Stop() }
}

// A service changes one line to have the wheel hold its requests' deadlines.
func Example() {
	timer, err := hashedwheel.New(hashedwheel.WithTickDuration(10 * time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	c := clock.New(timer)

	handler := func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := c.WithTimeout(r.Context(), 2*time.Second) // was: context.WithTimeout
		defer cancel()
		answer(ctx, w)
	}
	http.HandleFunc("/", handler)
	// Output:
}

// answer is somebody's work.
func answer(ctx context.Context, w http.ResponseWriter) { _, _ = fmt.Fprintln(w, ctx.Err()) }

func ExampleClock_WithTimeoutCause() {
	c, stop := newClock()
	defer stop()
	ctx, cancel := c.WithTimeoutCause(context.Background(), 20*time.Millisecond, errors.New("the database is slow"))
	defer cancel()

	<-ctx.Done()
	fmt.Println(ctx.Err())
	fmt.Println(context.Cause(ctx))
	// Output:
	// context deadline exceeded
	// the database is slow
}

func ExampleClock_AfterFunc() {
	c, stop := newClock()
	defer stop()
	timer := c.AfterFunc(time.Hour, func() { fmt.Println("never") })
	fmt.Println(timer.Stop())
	// Output: true
}

func ExampleClock_NewTicker() {
	c, stop := newClock()
	defer stop()
	ticker := c.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	first := <-ticker.C
	second := <-ticker.C
	fmt.Println(second.Sub(first).Truncate(20*time.Millisecond) > 0)
	// Output: true
}

func ExampleClock_ScheduleFunc() {
	c, stop := newClock()
	defer stop()
	done := make(chan struct{}, 1)
	job := c.ScheduleFunc(clock.FixedRate(20*time.Millisecond), func() {
		select {
		case done <- struct{}{}:
		default:
		}
	}, clock.QueueOne)
	<-done
	<-done
	job.Stop()
	job.Wait() // nothing runs any more
	fmt.Println("ran twice or more")
	// Output: ran twice or more
}

// A schedule of package cron is a Schedule as it is.
func ExampleClock_ScheduleFunc_cron() {
	c, stop := newClock()
	defer stop()
	nightly, err := cron.ParseStandard("CRON_TZ=UTC 30 3 * * *")
	if err != nil {
		log.Fatal(err)
	}
	job := c.ScheduleFunc(clock.Jitter(nightly, time.Minute), func() { fmt.Println("good night") })
	fmt.Println(job.Next().UTC().Format("15:04"))
	job.Stop()
	// Output: 03:30
}
