package keyed_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/keyed"
)

// An editor sends each change of a text to a server. The server writes the file when the
// author has paused for two seconds, every half minute at the latest, and at the end of the
// program.
func ExampleDebouncer() {
	dir, err := os.MkdirTemp("", "drafts")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 100 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()

	save := func(name string, text []byte) {
		fmt.Printf("saving %s: %s\n", name, text)
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			log.Print(err)
		}
	}
	drafts, err := keyed.NewDebouncer(timer, 2*time.Second, save,
		&keyed.DebouncerOptions[string, []byte]{MaxWait: 30 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /{name}", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err == nil {
			err = drafts.Trigger(filepath.Base(r.PathValue("name")), text)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})

	for _, text := range []string{"D", "De", "Dea", "Dear Ada"} { // requests of the editor
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("PUT", "/letter", strings.NewReader(text)))
	}
	if err := drafts.Flush(); err != nil { // the program ends
		log.Fatal(err)
	}
	drafts.Close()
	// Output: saving letter: Dear Ada
}

// A progress bar moves immediately and then at most five times per second. It ends at the
// last value.
func ExampleNewDebouncer_rate() {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	const pause = 200 * time.Millisecond
	shown := make(chan string, 2)
	bar, err := keyed.NewDebouncer(timer, pause, func(file string, percent int) { shown <- fmt.Sprint(file, " ", percent, "%") },
		&keyed.DebouncerOptions[string, int]{Edges: keyed.Leading | keyed.Trailing, MaxWait: pause})
	if err != nil {
		log.Fatal(err)
	}
	defer bar.Close()
	for percent := range 101 {
		if err := bar.Trigger("backup", percent); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(<-shown)
	fmt.Println(<-shown)
	// Output:
	// backup 0%
	// backup 100%
}
