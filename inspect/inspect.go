// Package inspect shows timers in the browser, while they run: how many timeouts wait
// in each bucket of a wheel, how many are scheduled, cancelled and expire a second,
// how late they are, what is due next, by task and by where it was scheduled, slow
// tasks, and leaks. Like net/http/pprof it is a handler of the program's own:
//
//	mux.Handle("/debug/hwt/", inspect.Handler(&inspect.Options{
//		Timers: map[string]hwt.Timer{"orders": timer},
//	}))
//
// Do not expose it to those who may not read the program's logs: it shows the names of
// tasks and the places in the source that schedule them, and it asks for no password.
//
// The page is one document, with no requests but to this handler, under a
// Content-Security-Policy that allows no others. Beside it there are, under the path
// of the handler,
//
//	timers.json                      the counts of each timer
//	pending.json?timer=&n=&task=&within=
//	                                 what is pending, as it is found; with n, from 1 to
//	                                 10000, the n that are due first, in that order; only
//	                                 tasks whose name contains task; only what is due
//	                                 within a duration, such as 1m30s
//	sections.json                    what the sections show
//	events                           what the page shows, as server-sent events
//
// and the path itself is plain text for clients that do not ask for HTML, as curl.
//
// # Sections
//
// Other parts of a program can show figures of theirs on the page, below the timers:
// [Options].Sections takes whatever implements [Section], such as the timers of package
// durable, or a function:
//
//	pool := inspect.NewSection("Connections", func(ctx context.Context) ([]inspect.Block, error) {
//		return []inspect.Block{{Figures: []inspect.Figure{{Name: "open", Value: pool.Open()}}}}, nil
//	})
//
// A section is plain values: the page lays them out, and escapes them. One that is
// slow, fails or panics shows so in its own place and holds up nothing else.
//
// # Cost
//
// A handler costs nothing while no page is open. Then it reads the counts of each
// timer four times a second, what the buckets hold once a second, and every timeout
// every three seconds. It takes no more than one part in twenty of a processor for
// either, and so does it less often if very many timeouts are pending. It holds a
// lock of a timer's for at most 1,024 timeouts, or 1,024 chunks of 13 timeouts, at
// a time. A page that is hidden, or paused, counts as closed. A section is read
// every two seconds, and less often, down to every ten, if that takes more than a
// tenth of a second.
package inspect

import (
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/inspection"
	"github.com/hashedwheel/hwt/internal/isnil"
)

// Options are the settings of [Handler].
type Options struct {
	// Timers are the timers to show, by the names to show them under. A timer that
	// wraps one of this module's shows no wheel, and only those counts for which it
	// has a method Stats, as [hwt.Engine] has.
	Timers map[string]hwt.Timer

	// More returns timers that come and go, and is called for each look at them,
	// from several goroutines at once. If a name is in Timers too, that timer is
	// shown. nil is the default: there are no more.
	More func() map[string]hwt.Timer

	// Sections are shown below the timers, in this order.
	Sections []Section
}

// Handler returns a handler that shows timers. nil options show none. It is safe for
// concurrent use, and works under any path that ends in a slash.
//
// It has no goroutine unless a page is open, or a [Section] does not heed the end of its
// context. Open pages end with [http.Server.Shutdown].
func Handler(options *Options) http.Handler {
	h := &handler{}
	if options != nil {
		h.fixed, h.more = maps.Clone(options.Timers), options.More
		h.hub.sections = newSectionReaders(options.Sections)
	}
	h.hub.timers = h.timers
	return h
}

type handler struct {
	fixed map[string]hwt.Timer        // Immutable after Handler.
	more  func() map[string]hwt.Timer // Immutable after Handler.
	hub   hub                         // Safe for concurrent use.
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", page.policy)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed (expected: GET or HEAD)", http.StatusMethodNotAllowed)
		return
	}
	dir, file := path.Split(r.URL.Path)
	switch file {
	case "":
		h.serveIndex(w, r)
	case "timers.json":
		h.serveTimers(w)
	case "pending.json":
		h.servePending(w, r)
	case "sections.json":
		h.serveSections(w, r)
	case "events":
		h.serveEvents(w, r)
	default:
		http.Error(w, "not found (expected: "+dir+" and timers.json, pending.json, sections.json or events there)", http.StatusNotFound)
	}
}

// serveIndex writes the page, or plain text for those who do not ask for HTML.
func (h *handler) serveIndex(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		h.serveText(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page.html)
}

// timer is a timer to show.
type timer struct {
	name  string
	timer hwt.Timer
	view  inspection.View // nil if there is none
}

// timers returns the timers there are now, by name.
func (h *handler) timers() []timer {
	all := make(map[string]hwt.Timer)
	if h.more != nil {
		maps.Copy(all, h.more())
	}
	maps.Copy(all, h.fixed)
	timers := make([]timer, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if t := all[name]; !isnil.Of(t) {
			view, _ := inspection.Of(t)
			timers = append(timers, timer{name, t, view})
		}
	}
	return timers
}
