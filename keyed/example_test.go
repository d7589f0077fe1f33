package keyed_test

import (
	"fmt"
	"time"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/keyed"
)

// A session expires when it has not been used for a while.
func Example_sessions() {
	type session struct{ user string }
	timer, _ := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
	defer timer.Stop()

	expired := make(chan string)
	sessions, _ := keyed.New(timer, func(id string, s session) { expired <- s.user }, nil)
	defer sessions.Close()

	const idle = 30 * time.Minute
	sessions.Set("a1", session{"Ada"}, idle)         // logs in
	sessions.Set("b2", session{"Blaise"}, idle)      // logs in
	sessions.Move("a1", idle)                        // is active
	sessions.Move("b2", 50*time.Millisecond)         // has been idle for almost that long
	fmt.Println("first to go:", <-expired)           // Blaise
	fmt.Println("Ada is here:", sessions.Has("a1"))  // still
	sessions.Delete("a1")                            // logs out
	fmt.Println("Ada is here:", sessions.Has("a1"))  // not any more
	fmt.Println("left:", sessions.Len(), "sessions") // none
	known, _ := sessions.Move("a1", idle)            // too late
	fmt.Println("known:", known)                     // false
	// Output:
	// first to go: Blaise
	// Ada is here: true
	// Ada is here: false
	// left: 0 sessions
	// known: false
}

// A server saves its pending pairs when it shuts down.
func ExampleWheel_Drain() {
	timer, _ := hashedwheel.New(nil)
	defer timer.Stop()
	orders, _ := keyed.New(timer, func(id int, item string) { fmt.Println("check", item) }, nil)
	defer orders.Close()

	orders.Set(1, "tea", 30*time.Minute)
	orders.Set(2, "cake", 30*time.Minute)
	orders.Drain(func(e keyed.Entry[int, string]) { fmt.Println("save", e.Key, e.Value) })
	fmt.Println("left:", orders.Len())
	// Unordered output:
	// save 1 tea
	// save 2 cake
	// left: 0
}
