package cache_test

import (
	"fmt"
	"time"

	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/hashedwheel"
)

func Example() {
	prices, err := cache.New[string, int](10*time.Minute, cache.WithLimit(10_000))
	if err != nil {
		panic(err)
	}
	defer prices.Close()

	fetch := func() (int, error) {
		fmt.Println("asking the shop")
		return 4, nil
	}
	for range 2 {
		price, err := prices.Take("tea", fetch)
		fmt.Println(price, err)
	}
	prices.Del("tea") // the price has changed
	_, ok := prices.Get("tea")
	fmt.Println("known:", ok)
	// Output:
	// asking the shop
	// 4 <nil>
	// 4 <nil>
	// known: false
}

// A session store: sessions go when they have not been seen for a while.
func Example_sessions() {
	type session struct{ user string }
	timer, _ := hashedwheel.New(hashedwheel.WithTickDuration(10 * time.Millisecond)) // for all caches
	defer timer.Stop()

	gone := make(chan string)
	sessions, _ := cache.New[string, session](30*time.Minute,
		cache.WithTimer(timer),
		cache.WithOnEvict(func(id string, s session) { gone <- s.user }))
	defer sessions.Close()

	sessions.Set("a1", session{"Ada"})
	sessions.SetWithExpire("b2", session{"Blaise"}, 50*time.Millisecond) // did nothing for almost that long
	if s, ok := sessions.Get("a1"); ok {                                 // Ada is active, and stays
		sessions.Set("a1", s)
	}
	fmt.Println("logged out:", <-gone)
	s, _ := sessions.Get("a1")
	fmt.Println("still here:", s.user)
	// Output:
	// logged out: Blaise
	// still here: Ada
}
