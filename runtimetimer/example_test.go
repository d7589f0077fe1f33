package runtimetimer_test

import (
	"fmt"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/runtimetimer"
)

func Example() {
	timer, err := runtimetimer.New(&runtimetimer.Options{Name: "orders"})
	if err != nil {
		fmt.Println(err)
		return
	}
	checked := make(chan struct{})
	check := func(hwt.Timeout) error {
		fmt.Println("unpaid: the reservation is released")
		close(checked)
		return nil
	}
	_, _ = timer.NewTimeout(hwt.TaskFunc(check), 10*time.Millisecond)
	paid, _ := timer.NewTimeout(hwt.TaskFunc(check), 10*time.Millisecond)
	fmt.Println("paid:", paid.Cancel())
	<-checked

	_, _ = timer.AfterFunc(30*time.Minute, func() {})
	fmt.Println("unprocessed:", len(timer.Stop()))
	// Output:
	// paid: true
	// unpaid: the reservation is released
	// unprocessed: 1
}
