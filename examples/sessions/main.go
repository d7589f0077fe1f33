// Sessions is a web server with logins that end after a time without use.
//
//	go run ./sessions
//	curl -c jar -d user=ada localhost:8080/login
//	curl -b jar localhost:8080
//	curl -b jar -X POST localhost:8080/logout
//
// Without TLS, it is for localhost only. On a network, the cookie also needs Secure.
package main

import (
	"crypto/rand"
	"flag"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/hashedwheel/hwt/cache"
)

func main() {
	idle := flag.Duration("idle", time.Minute, "a session ends after this time without use")
	age := flag.Duration("age", time.Hour, "a session ends at this age")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument: %s", flag.Arg(0))
	}
	report := func(_, user string, why cache.Reason) { log.Printf("the session of %s ends: %s", user, why) }
	sessions, err := cache.New(*age, &cache.Options[string, string]{Sliding: *idle, OnEvict: report})
	if err != nil {
		log.Fatal(err)
	}
	log.Print("serving http://localhost:8080")
	log.Fatal(http.ListenAndServe("localhost:8080", handler(sessions)))
}

func handler(sessions *cache.Cache[string, string]) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		id := rand.Text()
		if err := sessions.Set(id, r.FormValue("user")); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: id, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if cookie, err := r.Cookie("session"); err == nil {
			// Get counts as a use and sets nothing: no request restores a session after its logout.
			if user, ok := sessions.Get(cookie.Value); ok {
				fmt.Fprintf(w, "Hello %s\n", user)
				return
			}
		}
		http.Error(w, "Log in, please", http.StatusUnauthorized)
	})
	mux.HandleFunc("POST /logout", func(_ http.ResponseWriter, r *http.Request) {
		if cookie, err := r.Cookie("session"); err == nil {
			sessions.Delete(cookie.Value)
		}
	})
	return mux
}
