// Live serves the live page of a program's timers to users with a password only.
//
//	LIVE_PASSWORD=secret go run ./live
//	curl -u ops:secret localhost:6060/debug/hwt/
//
// It listens on localhost. Put a TLS proxy in front of it, or use ServeTLS, before
// passwords cross a network.
package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"flag"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/inspect"
)

func main() {
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument: %s", flag.Arg(0))
	}
	password := os.Getenv("LIVE_PASSWORD")
	if password == "" {
		log.Fatal("LIVE_PASSWORD is not set: run LIVE_PASSWORD=secret go run ./live")
	}
	orders, err := hashedwheel.New(&hashedwheel.Options{Name: "orders", RecordCallers: true})
	if err != nil {
		log.Fatal(err)
	}
	go work(orders)
	page := inspect.Handler(&inspect.Options{Timers: map[string]hwt.Timer{"orders": orders}})
	http.Handle("/debug/hwt/", protect("ops", password, page))
	log.Print("user ops sees the timer at http://localhost:6060/debug/hwt/")
	log.Fatal(http.ListenAndServe("localhost:6060", nil))
}

// protect serves h to requests with the user name and the password.
func protect(user, password string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, p, _ := r.BasicAuth()
		if !equal(u, user) || !equal(p, password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="timers"`)
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// equal takes the same time for all strings, whatever they have in common.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// work schedules order checks, and cancels most of them.
func work(timer hwt.Timer) {
	for range time.Tick(10 * time.Millisecond) {
		check, err := timer.NewTimeout(checkOrder{}, 20*time.Second)
		if err != nil {
			return
		}
		time.AfterFunc(rand.N(30*time.Second), func() { check.Cancel() })
	}
}

type checkOrder struct{}

func (checkOrder) Run(hwt.Timeout) error { return nil }
