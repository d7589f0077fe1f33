package cache_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/hashedwheel/hwt/cache"
)

// A shop converts prices at a rate that a slow server knows. A rate is at most a minute old.
// From the age of ten milliseconds (usually some seconds) the next customer gets it and makes
// the shop ask for the following one. Only the first customer ever waits for the server.
func ExampleOptions_refreshAhead() {
	asked := 0
	bank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprintf(w, "1.%02d", asked)
	}))
	defer bank.Close()

	rates, err := cache.New(time.Minute, &cache.Options[string, string]{RefreshAhead: time.Minute - 10*time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	defer rates.Close()
	rate := func(currency string) string {
		rate, err := rates.GetOrFetch(context.Background(), currency, func(ctx context.Context) (string, error) {
			request, err := http.NewRequestWithContext(ctx, "GET", bank.URL+"/"+currency, nil)
			if err != nil {
				return "", err
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return "", err
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			return string(text), err
		})
		if err != nil {
			log.Fatal(err)
		}
		return rate
	}

	fmt.Println("waits for", rate("EUR"))
	time.Sleep(20 * time.Millisecond)
	fmt.Println("does not wait for", rate("EUR"))
	for renewed, _ := rates.Peek("EUR"); renewed != "1.02"; renewed, _ = rates.Peek("EUR") {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("the next one gets", rate("EUR"))
	// Output:
	// waits for 1.01
	// does not wait for 1.01
	// the next one gets 1.02
}

// A page shows the sessions without keeping them alive.
func ExampleCache_Peek() {
	sessions, err := cache.New(time.Hour, &cache.Options[string, string]{Sliding: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer sessions.Close()
	_ = sessions.Set("a1", "Ada") // fails only after Close, or for a NaN
	user, ok := sessions.Peek("a1")
	fmt.Println(user, ok, sessions.Stats().Hits)
	// Output: Ada true 0
}

// Attempts to log in are counted for a quarter of an hour from the first one on.
func ExampleCache_Update() {
	attempts, err := cache.New[string, int](15*time.Minute, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer attempts.Close()
	allowed := func(user string) bool {
		_, err := attempts.SetIfAbsent(user, 0)
		if err == nil {
			_, err = attempts.Update(user, func(n int) int { return n + 1 }) // keeps the TTL
		}
		n, _ := attempts.Peek(user)
		return err == nil && n <= 3
	}
	for range 4 {
		fmt.Println(allowed("ada"))
	}
	// Output:
	// true
	// true
	// true
	// false
}
