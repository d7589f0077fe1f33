// Sessions is examples/sessions with ttlcache.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/jellydator/ttlcache/v3"
)

// session has its age limit itself, since an entry of ttlcache has one TTL.
type session struct {
	user string
	ends time.Time
}

func main() {
	idle := flag.Duration("idle", time.Minute, "a session ends after this time without use")
	age := flag.Duration("age", time.Hour, "a session ends at this age")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument: %s", flag.Arg(0))
	}
	sessions := ttlcache.New(ttlcache.WithTTL[string, session](*idle))
	sessions.OnEviction(func(_ context.Context, why ttlcache.EvictionReason, item *ttlcache.Item[string, session]) {
		log.Printf("the session of %s ends: %d", item.Value().user, why)
	})
	go sessions.Start()
	log.Fatal(http.ListenAndServe("localhost:8080", handler(sessions, *age)))
}

func handler(sessions *ttlcache.Cache[string, session], age time.Duration) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		id := rand.Text()
		http.SetCookie(w, &http.Cookie{Name: "session", Value: id, HttpOnly: true, SameSite: http.SameSiteLaxMode})
		sessions.Set(id, session{r.FormValue("user"), time.Now().Add(age)}, ttlcache.DefaultTTL)
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if cookie, err := r.Cookie("session"); err == nil {
			if item := sessions.Get(cookie.Value); item != nil && time.Now().Before(item.Value().ends) {
				fmt.Fprintf(w, "Hello %s\n", item.Value().user)
				return
			}
			sessions.Delete(cookie.Value)
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
