package inspect_test

import (
	"context"
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
