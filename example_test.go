package hwt_test

import (
	"fmt"
	"log"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// Two orders are checked for payment a moment after they came in. One is paid in
// time, so its check is cancelled.
func Example() {
	timer, err := hashedwheel.New(hashedwheel.WithTickDuration(time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan struct{})
	unpaid := func(order string) hwt.TaskFunc {
		return func(hwt.Timeout) error {
			defer close(done)
			_, err := fmt.Println(order, "is not paid: released")
			return err
		}
	}
	first, _ := timer.NewTimeout(unpaid("order 1"), 30*time.Minute)
	second, _ := timer.NewTimeout(unpaid("order 2"), 30*time.Minute)
	fmt.Println("order 1 paid in time:", first.Cancel())
	second.Reset(10 * time.Millisecond) // the customer of order 2 went away
	<-done
	fmt.Println("left when stopped:", len(timer.Stop()))

	// Output:
	// order 1 paid in time: true
	// order 2 is not paid: released
	// left when stopped: 0
}

// pool is a stand-in for a worker pool such as ants, whose Submit has the same
// shape.
type pool struct{ tasks chan func() }

func (p *pool) Submit(task func()) error {
	select {
	case p.tasks <- task:
		return nil
	default:
		return fmt.Errorf("pool is full")
	}
}

// executorFunc makes an Executor of a function.
type executorFunc func(task func()) error

func (f executorFunc) Execute(task func()) error { return f(task) }

// A worker pool becomes an Executor in one line, so that slow tasks do not hold
// up the timer.
func ExampleExecutor() {
	workers := &pool{tasks: make(chan func(), 16)}
	timer, err := hashedwheel.New(
		hashedwheel.WithTickDuration(time.Millisecond),
		hashedwheel.WithExecutor(executorFunc(workers.Submit)))
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
