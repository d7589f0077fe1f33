package cache_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashedwheel/hwt/cache"
	"github.com/hashedwheel/hwt/hashedwheel"
)

func Example() {
	prices, err := cache.New(10*time.Minute, &cache.Options[string, int]{Limit: 10_000})
	if err != nil {
		panic(err)
	}
	defer prices.Close()

	fetch := func(context.Context) (int, error) {
		fmt.Println("asking the shop")
		return 4, nil
	}
	for range 2 {
		price, err := prices.GetOrFetch(context.Background(), "tea", fetch)
		fmt.Println(price, err)
	}
	prices.Delete("tea") // the price has changed
	_, ok := prices.Get("tea")
	fmt.Println("known:", ok)
	// Output:
	// asking the shop
	// 4 <nil>
	// 4 <nil>
	// known: false
}

// A session expires when it is unused for a while, and at the end of the day at the latest.
func Example_sessions() {
	type session struct{ user string }
	timer, _ := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond}) // for all caches
	defer timer.Stop()

	gone := make(chan string)
	sessions, _ := cache.New(24*time.Hour, &cache.Options[string, session]{
		Sliding: 30 * time.Minute,
		Timer:   timer,
		OnEvict: func(id string, s session, reason cache.Reason) {
			go func() { gone <- fmt.Sprint(s.user, ": ", reason) }()
		},
	})

	sessions.Set("a1", session{"Ada"})
	sessions.SetWithTTL("b2", session{"Blaise"}, 50*time.Millisecond) // a short one
	if s, ok := sessions.Get("a1"); ok {                              // a request, which postpones expiry
		fmt.Println("hello,", s.user)
	}
	fmt.Println(<-gone)

	sessions.Delete("a1") // Ada logs out; a running request does not undo it
	fmt.Println(<-gone)
	fmt.Println("logged in:", sessions.Touch("a1"))
	sessions.Close()
	// Output:
	// hello, Ada
	// Blaise: expired
	// Ada: deleted
	// logged in: false
}

var errUnknown = errors.New("no such user")

// The absence of a value can be cached, too, for a shorter time.
func ExampleCache_GetOrFetchWithTTL() {
	type user struct{}
	users, _ := cache.New[string, *user](time.Hour, nil)
	defer users.Close()

	find := func(ctx context.Context, id string) (*user, error) {
		fmt.Println("asking the database for", id)
		return nil, errUnknown
	}
	for range 2 {
		u, err := users.GetOrFetchWithTTL(context.Background(), "x", func(ctx context.Context) (*user, time.Duration, error) {
			u, err := find(ctx, "x")
			if errors.Is(err, errUnknown) {
				return nil, time.Minute, nil // remember that for a minute
			}
			return u, time.Hour, err
		})
		fmt.Println(u == nil, err)
	}
	// Output:
	// asking the database for x
	// true <nil>
	// true <nil>
}
