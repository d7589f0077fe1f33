package keyed_test

import (
	"fmt"
	"time"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/keyed"
)

// A session lives as long as it is used.
func Example_sessions() {
	type session struct{ user string }
	timer, _ := hashedwheel.New(hashedwheel.WithTickDuration(10 * time.Millisecond))
	defer timer.Stop()

	expired := make(chan string)
	sessions, _ := keyed.New(timer, func(id string, s session) { expired <- s.user })
	defer sessions.Stop()

	const idle = 30 * time.Minute
	sessions.SetTimer("a1", session{"Ada"}, idle)    // logs in
	sessions.SetTimer("b2", session{"Blaise"}, idle) // logs in
	sessions.MoveTimer("a1", idle)                   // is active
	sessions.MoveTimer("b2", 50*time.Millisecond)    // did nothing for almost that long
	fmt.Println("first to go:", <-expired)           // Blaise, in the end
	fmt.Println("Ada is here:", sessions.Has("a1"))  // still
	sessions.RemoveTimer("a1")                       // logs out
	fmt.Println("Ada is here:", sessions.Has("a1"))  // no more
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

// A server that shuts down hands on what is still waiting.
func ExampleWheel_Drain() {
	timer, _ := hashedwheel.New()
	defer timer.Stop()
	orders, _ := keyed.New(timer, func(id int, item string) { fmt.Println("check", item) })
	defer orders.Stop()

	orders.SetTimer(1, "tea", 30*time.Minute)
	orders.SetTimer(2, "cake", 30*time.Minute)
	orders.Drain(func(id int, item string) { fmt.Println("save", id, item) })
	fmt.Println("left:", orders.Len())
	// Unordered output:
	// save 1 tea
	// save 2 cake
	// left: 0
}
