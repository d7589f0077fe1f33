package inspect_test

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/inspect"
)

// A section shows numbers of the program, such as those of a connection pool.
func ExampleNewSection() {
	open, idle := 12, 5
	pool := inspect.NewSection("Connections", func(context.Context) ([]inspect.Block, error) {
		return []inspect.Block{
			{Figures: []inspect.Figure{
				{Name: "open", Value: open},
				{Name: "longest wait", Value: 20 * time.Millisecond, Bad: true},
			}},
			{Title: "By state", Bars: []inspect.Figure{{Name: "idle", Value: idle}, {Name: "busy", Value: open - idle}}},
		}, nil
	})
	h := inspect.Handler(&inspect.Options{Sections: []inspect.Section{pool}})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/hwt/", nil)) // as curl does
	fmt.Print(w.Body)
	// Output:
	// Connections
	//   open          12
	//   longest wait  20ms
	//   By state
	//   idle  5
	//   busy  7
	//
	// See also timers.json, sections.json, and pending.json?timer=&n=&task=&within=
}

func Example() {
	timer, err := hashedwheel.New(nil)
	if err != nil {
		panic(err)
	}
	defer timer.Stop()
	mux := http.NewServeMux()
	mux.Handle("/debug/hwt/", inspect.Handler(&inspect.Options{
		Timers: map[string]hwt.Timer{"orders": timer},
	}))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/hwt/timers.json", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 application/json
}

// The page is served to users with a password only. The comparison takes the same time for all
// passwords. Before passwords cross a network, the server needs TLS.
func ExampleHandler_password() {
	equal := func(a, b string) bool {
		x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
		return subtle.ConstantTimeCompare(x[:], y[:]) == 1
	}
	page := inspect.Handler(nil)
	protected := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); !equal(password, "secret") {
			w.Header().Set("WWW-Authenticate", `Basic realm="timers"`)
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		page.ServeHTTP(w, r)
	})
	for _, password := range []string{"guess", "secret"} {
		r := httptest.NewRequest(http.MethodGet, "/debug/hwt/timers.json", nil)
		r.SetBasicAuth("ops", password)
		w := httptest.NewRecorder()
		protected.ServeHTTP(w, r)
		fmt.Println(password, w.Code)
	}
	// Output:
	// guess 401
	// secret 200
}
