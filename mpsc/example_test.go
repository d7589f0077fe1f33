package mpsc_test

import (
	"fmt"
	"sync"

	"github.com/hashedwheel/hwt/mpsc"
)

// hit is one request to be counted.
type hit struct {
	next  mpsc.Link[hit]
	page  string
	bytes int
}

// Goroutines that serve requests record each request without waiting. The statistics
// regularly process a bounded number of records, and the rest after Close.
func Example() {
	var hits mpsc.Queue[hit]
	hits.Init(func(h *hit) *mpsc.Link[hit] { return &h.next })

	var servers sync.WaitGroup
	for server := range 4 {
		servers.Go(func() {
			for range 250 {
				hits.Push(&hit{page: "/wheel", bytes: 100 * (server + 1)})
			}
		})
	}
	servers.Wait()

	var requests, bytes int
	account := func(h *hit) {
		requests++
		bytes += h.bytes
	}
	for n := hits.Drain(300, account); n > 0; n = hits.Drain(300, account) {
		fmt.Println("took in", n)
	}
	hits.Close()
	fmt.Println("still counted:", hits.Push(&hit{page: "/late"}))
	fmt.Println(requests, "requests,", bytes, "bytes")
	// Output:
	// took in 300
	// took in 300
	// took in 300
	// took in 100
	// still counted: false
	// 1000 requests, 250000 bytes
}
