package clock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// A server changes one line so that a wheel keeps the deadlines of its requests.
func Example() {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	c, err := clock.New(timer, nil)
	if err != nil {
		log.Fatal(err)
	}

	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := c.WithTimeout(r.Context(), 20*time.Millisecond) // was: context.WithTimeout
		defer cancel()
		for range 1000 {
			if err := ctx.Err(); err != nil { // between the steps of the work
				http.Error(w, err.Error(), http.StatusGatewayTimeout)
				return
			}
			step()
		}
	})
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(response.Code, response.Body)
	// Output: 504 context deadline exceeded
}

// step is one of many steps, which together exceed the deadline. Examples use the real
// clock, because they cannot run in a bubble.
func step() { time.Sleep(time.Millisecond) }

// newExampleClock returns a clock on a wheel, and the function that stops the wheel.
func newExampleClock() (*clock.Clock, func()) {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	c, err := clock.New(timer, nil)
	if err != nil {
		log.Fatal(err)
	}
	return c, func() { timer.Stop() }
}

func ExampleClock_WithTimeoutCause() {
	c, stop := newExampleClock()
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

func ExampleClock_RunWithTimeout() {
	c, stop := newExampleClock()
	defer stop()
	err := c.RunWithTimeout(context.Background(), 20*time.Millisecond, func(ctx context.Context) error {
		<-ctx.Done() // a long computation that regularly calls ctx.Err
		return ctx.Err()
	})
	fmt.Println(err)
	// Output: context deadline exceeded
}

// At shutdown, End ends the contexts and timers that still wait.
func ExampleClock_End() {
	timer, err := hashedwheel.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	c, err := clock.New(timer, nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := c.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if _, err := timer.AfterFunc(time.Hour, func() {}); err != nil {
		log.Fatal(err)
	}

	others := c.End(timer.Stop())
	fmt.Println(ctx.Err(), "because:", context.Cause(ctx))
	fmt.Println(len(others), "timeout is not the clock's")
	// Output:
	// context canceled because: hwt: timer is stopped
	// 1 timeout is not the clock's
}

func ExampleClock_AfterFunc() {
	c, stop := newExampleClock()
	defer stop()
	timer := c.AfterFunc(time.Hour, func() { fmt.Println("never") })
	fmt.Println(timer.Stop())
	// Output: true
}

func ExampleClock_NewTicker() {
	c, stop := newExampleClock()
	defer stop()
	ticker := c.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	first := <-ticker.C
	second := <-ticker.C
	fmt.Println(second.Sub(first).Truncate(20*time.Millisecond) > 0)
	// Output: true
}

func ExampleClock_ScheduleFunc() {
	c, stop := newExampleClock()
	defer stop()
	ran := make(chan struct{}, 1)
	job, err := c.ScheduleFunc(clock.FixedRate(20*time.Millisecond), func() {
		select {
		case ran <- struct{}{}:
		default:
		}
	}, &clock.JobOptions{Overlap: clock.OverlapQueueOne})
	if err != nil {
		log.Fatal(err)
	}
	<-ran
	<-ran
	job.Stop()
	job.Wait() // until no run is under way
	fmt.Println("ran twice or more")
	// Output: ran twice or more
}

// A job with a name can be found, paused and run on request. Its function gets a
// context that ends when the job is stopped.
func ExampleClock_ScheduleContext() {
	c, stop := newExampleClock()
	defer stop()
	nightly, err := clock.ParseSpec("JITTER=1m 30 3 * * *")
	if err != nil {
		log.Fatal(err)
	}
	began := make(chan struct{})
	backup := func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	}
	_, err = c.ScheduleContext(nightly, backup, &clock.JobOptions{
		Name:   "backup",
		Missed: clock.Missed{MaxLateness: time.Hour}, // After a longer sleep of the machine, skip the backup.
	})
	if err != nil {
		log.Fatal(err)
	}

	for _, job := range c.Jobs() {
		fmt.Println(job.Status().Name, job.Next().UTC().Format("15:04"))
	}
	job := c.Job("backup")
	job.Pause()
	fmt.Println(job.RunNow())
	<-began
	job.Stop()
	job.Wait() // until the run has returned
	fmt.Println(len(c.Jobs()))
	// Output:
	// backup 03:30
	// true
	// 0
}

// The time 02:30 does not exist on the day when clocks change from 02:00 to 03:00. By
// default, the run is at the end of the gap.
func ExampleSpec() {
	nightly, err := clock.ParseSpec("CRON_TZ=Europe/Berlin 30 2 * * *")
	if err != nil {
		log.Fatal(err)
	}
	saturday := time.Date(2027, 3, 27, 12, 0, 0, 0, time.UTC)
	for _, next := range nightly.NextN(saturday, 2) {
		fmt.Println(next)
	}
	_, err = clock.ParseSpec("30 24 * * *")
	fmt.Println(err)
	// Output:
	// 2027-03-28 03:00:00 +0200 CEST
	// 2027-03-29 02:30:00 +0200 CEST
	// clock: spec "30 24 * * *": hour: "24" (expected: 0 to 23)
}

// The accounts are closed on the last working day of each month.
func ExampleSpec_Between() {
	closing, err := clock.ParseSpec("CRON_TZ=Europe/Berlin 0 18 LW * *")
	if err != nil {
		panic(err)
	}
	begin := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for at := range closing.Between(begin, begin.AddDate(0, 3, 0)) {
		fmt.Println(at.Format("Mon 2 Jan 15:04"))
	}
	fmt.Println(closing.Matches(begin))
	// Output:
	// Fri 29 Jan 18:00
	// Fri 26 Feb 18:00
	// Wed 31 Mar 18:00
	// false
}

// A program that starts asks whether it has missed a backup.
func ExampleSpec_Prev() {
	backup, err := clock.ParseSpec("START=2027-01-04T00:00:00Z EVERY=2w 0 9 * * mon")
	if err != nil {
		panic(err)
	}
	now := time.Date(2027, 2, 3, 12, 0, 0, 0, time.UTC)
	last := time.Date(2027, 1, 18, 9, 0, 5, 0, time.UTC) // of the last backup
	due := backup.Prev(now)
	fmt.Println(due.Format(time.DateTime), due.After(last))
	// Output: 2027-02-01 09:00:00 true
}
