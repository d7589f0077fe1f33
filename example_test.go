package hwt_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// Two orders are checked for payment. The first is paid in time; the check of the second
// fires. README.md begins with this program.
func Example() {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop() // returns the pending timeouts

	released := make(chan string, 2)
	check := func(order string) func() { return func() { released <- order } }
	paid, _ := timer.AfterFunc(30*time.Minute, check("order 1")) // fails after Stop only
	_, _ = timer.AfterFunc(50*time.Millisecond, check("order 2"))

	fmt.Println("order 1 is paid in time:", paid.Cancel())
	fmt.Println(<-released, "is not paid: released")

	// Output:
	// order 1 is paid in time: true
	// order 2 is not paid: released
}

// All lists the pending timeouts while the timer runs.
func ExampleEngine_all() {
	var timer hwt.Engine
	timer, err := hashedwheel.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	for i := range 3 {
		_, _ = timer.AfterFunc(time.Duration(i+1)*time.Hour, func() {})
	}
	hours := 0.0
	for timeout := range timer.All() {
		hours += time.Until(timeout.Deadline()).Hours()
	}
	fmt.Printf("%d pending, due in %.1f hours on average\n", timer.Pending(), hours/3)
	// Output: 3 pending, due in 2.0 hours on average
}

// A session holds its timeout, and is the task of it.
func ExampleEvent() {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()

	s := &session{idle: make(chan struct{})}
	if err := s.timeout.Init(timer, s); err != nil {
		log.Fatal(err)
	}
	_ = s.timeout.Arm(time.Hour)                 // fails after Stop only
	_ = s.timeout.Arm(time.Minute)               // moves the deadline
	fmt.Println("cancelled", s.timeout.Cancel()) // prevents the run
	_ = s.timeout.Arm(10 * time.Millisecond)
	<-s.idle
	fmt.Println("cancelled", s.timeout.Cancel()) // too late
	// Output:
	// cancelled true
	// idle
	// cancelled false
}

// session is an object with a timeout, and the task of the timeout.
type session struct {
	timeout hwt.Event
	idle    chan struct{}
}

// Run implements hwt.TimerTask.
func (s *session) Run(hwt.Timeout) error {
	fmt.Println("idle")
	close(s.idle)
	return nil
}

// A batch is scheduled as a whole, or not at all.
func ExampleEngine_newTimeouts() {
	timer, err := hashedwheel.New(&hashedwheel.Options{MaxPendingTimeouts: 3})
	if err != nil {
		log.Fatal(err)
	}
	check := func(order string) hwt.TimerTask {
		return hwt.TaskFunc(func(hwt.Timeout) error {
			_, err := fmt.Println(order, "is not paid")
			return err
		})
	}
	batch, err := timer.NewTimeouts([]hwt.TimerTask{check("order 1"), check("order 2")}, time.Hour)
	fmt.Println(len(batch), err)
	batch, err = timer.NewTimeouts([]hwt.TimerTask{check("order 3"), check("order 4")}, time.Hour)
	fmt.Println(len(batch), err)
	fmt.Println("unprocessed:", len(timer.Stop()))
	// Output:
	// 2 <nil>
	// 0 hwt: number of pending timeouts (4) is greater than or equal to maximum allowed pending timeouts (3)
	// unprocessed: 2
}

// A task passes its context to the calls that it makes. They end when the timer no longer
// waits for the task.
func ExampleContextTaskFunc() {
	failed := make(chan error)
	timer, err := hashedwheel.New(&hashedwheel.Options{
		TickDuration: time.Millisecond,
		ErrorHandler: func(_ hwt.Timeout, err error) { failed <- err },
	})
	if err != nil {
		log.Fatal(err)
	}
	began := make(chan struct{})
	query := func(ctx context.Context) error { // such as sql.DB.ExecContext
		close(began)
		<-ctx.Done()
		return fmt.Errorf("query: %w", context.Cause(ctx))
	}
	cleanup := hwt.ContextTaskFunc(func(ctx context.Context, _ hwt.Timeout) error { return query(ctx) })
	if _, err := timer.NewTimeout(cleanup, 10*time.Millisecond); err != nil {
		log.Fatal(err)
	}
	<-began

	ctx, cancel := context.WithCancel(context.Background())
	cancel() // wait for nothing
	_, err = timer.Shutdown(ctx)
	fmt.Println("shutdown in time:", err == nil)
	fmt.Println(<-failed)
	// Output:
	// shutdown in time: false
	// query: hwt: timer is stopped
}

// A program lets its tasks finish before it exits, but does not wait forever.
func ExampleEngine_shutdown() {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	began, ended := make(chan struct{}), make(chan error)
	upload := func(ctx context.Context, _ hwt.Timeout) error {
		close(began)
		<-ctx.Done() // it would take hours
		ended <- context.Cause(ctx)
		return nil
	}
	_, _ = timer.NewTimeout(hwt.ContextTaskFunc(upload), 0)
	_, _ = timer.AfterFunc(time.Hour, func() {})
	<-began

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	unprocessed, err := timer.Shutdown(ctx)
	var left *hwt.ShutdownError
	fmt.Println(len(unprocessed), "unprocessed,", errors.As(err, &left), left.Running, "running")
	fmt.Println("the upload ends:", <-ended)
	// Output:
	// 1 unprocessed, true 1 running
	// the upload ends: hwt: timer is stopped
}

// pool is a stand-in for a worker pool such as ants, made with its option
// WithNonblocking: Submit has the same form, and returns an error instead of
// waiting when the pool is full.
type pool struct{ tasks chan func() }

func (p *pool) Submit(task func()) error {
	select {
	case p.tasks <- task:
		return nil
	default:
		return fmt.Errorf("pool is full")
	}
}

// A worker pool becomes an Executor in one line, so that slow tasks do not hold
// up the timer.
func ExampleExecutorFunc() {
	workers := &pool{tasks: make(chan func(), 16)}
	timer, err := hashedwheel.New(&hashedwheel.Options{
		TickDuration: time.Millisecond,
		Executor:     hwt.ExecutorFunc(workers.Submit),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	if _, err := timer.AfterFunc(time.Millisecond, func() { fmt.Println("run by the pool") }); err != nil {
		log.Fatal(err)
	}
	task := <-workers.tasks // a worker takes it
	task()
	// Output: run by the pool
}

// Tasks that block run on a pool. A task that the full pool rejects says so to the error
// handler, and the timer stays on time.
func ExampleNewPool() {
	workers, err := hwt.NewPool(1, 1) // one task runs, and one waits
	if err != nil {
		log.Fatal(err)
	}
	rejected := make(chan error)
	timer, err := hashedwheel.New(&hashedwheel.Options{
		TickDuration: time.Millisecond,
		Executor:     workers,
		ErrorHandler: func(_ hwt.Timeout, err error) { rejected <- err },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	answer := make(chan struct{})
	for range 3 {
		_, _ = timer.AfterFunc(time.Millisecond, func() { <-answer }) // fails only after Stop
	}
	fmt.Println(errors.Is(<-rejected, hwt.ErrPoolFull))
	close(answer)
	// Output: true
}

// A request is repeated until it succeeds, with longer and longer pauses.
func ExampleBackoff() {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	pauses := hwt.Backoff{Base: time.Millisecond, Max: time.Second}
	done := make(chan int)
	var attempt func(n int)
	attempt = func(n int) {
		if failed := n < 4; failed {
			_, _ = timer.AfterFunc(pauses.Delay(n), func() { attempt(n + 1) }) // fails only after Stop
			return
		}
		done <- n
	}
	go attempt(1)
	fmt.Println("arrived at attempt", <-done)
	// Output: arrived at attempt 4
}

// A thousand sessions that begin together end within a minute, not at one moment.
func ExampleJitter() {
	timer, err := hashedwheel.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	for range 1000 {
		if _, err := timer.AfterFunc(hwt.Jitter(10*time.Minute, 0.1), func() {}); err != nil {
			log.Fatal(err)
		}
	}
	first, last := 10*time.Minute, time.Duration(0)
	for timeout := range timer.All() {
		left := time.Until(timeout.Deadline())
		first, last = min(first, left), max(last, left)
	}
	fmt.Println(first > 8*time.Minute, last <= 10*time.Minute, last-first > 30*time.Second)
	// Output: true true true
}
