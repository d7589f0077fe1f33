package hierarchical_test

import (
	"fmt"
	"log"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hierarchical"
)

func Example() {
	timer, err := hierarchical.New(nil) // ticks of 1 ms, 64 to a wheel
	if err != nil {
		log.Fatal(err)
	}

	expire := hwt.TaskFunc(func(hwt.Timeout) error {
		fmt.Println("delete the account")
		return nil
	})
	deletion, err := timer.NewTimeout(expire, 30*24*time.Hour)
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan struct{})
	if _, err := timer.AfterFunc(20*time.Millisecond, func() {
		fmt.Println("retry the request")
		close(done)
	}); err != nil {
		log.Fatal(err)
	}

	<-done
	fmt.Println("levels:", timer.Levels())
	fmt.Println("postponed:", deletion.Reset(60*24*time.Hour))
	fmt.Println("pending at the end:", len(timer.Stop()))
	// Output:
	// retry the request
	// levels: 6
	// postponed: true
	// pending at the end: 1
}
