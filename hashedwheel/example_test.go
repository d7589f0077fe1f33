package hashedwheel_test

import (
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// The main use of the wheel: each request has a timeout, which the answer cancels.
func Example() {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	gaveUp := make(chan string, 2)
	request := func(name string, patience time.Duration) hwt.Timeout {
		timeout, err := timer.NewTimeout(hwt.TaskFunc(func(hwt.Timeout) error {
			gaveUp <- name
			return nil
		}), patience)
		if err != nil {
			log.Fatal(err)
		}
		return timeout
	}

	fast := request("fast", time.Minute)
	request("slow", 5*time.Millisecond)
	fmt.Println("answered in time:", fast.Cancel())
	fmt.Println("gave up on:", <-gaveUp)

	request("late", time.Hour)
	for _, timeout := range timer.Stop() {
		fmt.Println("never processed, cancelled:", timeout.IsCancelled())
	}
	// Output:
	// answered in time: true
	// gave up on: slow
	// never processed, cancelled: true
}

// goroutines is an Executor that runs each task on a new goroutine, and can wait for them.
type goroutines struct{ sync.WaitGroup }

func (g *goroutines) Execute(task func()) error {
	g.Go(task)
	return nil
}

func ExampleOptions() {
	pool := new(goroutines)
	timer, err := hashedwheel.New(&hashedwheel.Options{
		TickDuration: time.Millisecond,
		Executor:     pool,
	})
	if err != nil {
		log.Fatal(err)
	}
	second := make(chan struct{})
	_, _ = timer.AfterFunc(time.Millisecond, func() {
		<-second // would hold up the timer for good if it ran on its worker
		fmt.Println("first")
	})
	_, _ = timer.AfterFunc(3*time.Millisecond, func() {
		fmt.Println("second")
		close(second)
	})
	<-second
	timer.Stop()
	pool.Wait()
	// Output:
	// second
	// first
}
