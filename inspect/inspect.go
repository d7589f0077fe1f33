// Package inspect serves a live page about running timers: the timeouts in each bucket
// of a wheel, rates, lateness, the next deadlines, pending timeouts by task and by
// caller, slow tasks, and leaks. Like net/http/pprof, it is a handler that the program
// mounts:
//
//	mux.Handle("/debug/hwt/", inspect.Handler(&inspect.Options{
//		Timers: map[string]hwt.Timer{"orders": timer},
//	}))
//
// The page shows the names of tasks and the source lines that schedule them, and the
// handler does not authenticate anyone. Expose the handler only to people who may read the
// program's logs.
//
// The page is one document that requests nothing but this handler; its
// Content-Security-Policy forbids everything else. The handler also serves, below the same
// path,
//
//	timers.json                      the counts of each timer
//	pending.json?timer=&n=&task=&within=
//	                                 pending timeouts, in no order; with n, from 1 to
//	                                 10000, the n earliest in order; with task, those
//	                                 whose task's name contains it; with within, those
//	                                 due within a duration such as 1m30s
//	sections.json                    the contents of the sections
//	events                           the page's data as server-sent events
//
// and plain text for clients that do not accept HTML, such as curl.
//
// # Sections
//
// [Options].Sections shows other parts of a program below the timers. A section is any
// implementation of [Section], such as the store of package durable, or a function:
//
//	pool := inspect.NewSection("Connections", func(ctx context.Context) ([]inspect.Block, error) {
//		return []inspect.Block{{Figures: []inspect.Figure{{Name: "open", Value: pool.Open()}}}}, nil
//	})
//
// A section returns plain values; the page lays out and escapes the values. A section that
// is slow, fails, or panics affects only one place on the page.
//
// # Cost
//
// A handler costs nothing while no page is open. While a page is open, the handler reads
// the counts of each timer four times per second, the bucket sizes once per second, and
// every pending timeout every three seconds. Bucket sizes and timeouts each take at most 5
// % of one processor; with very many timeouts, readings are less frequent, and a reloaded
// page waits for the next reading. The handler locks a timer for at most 1,024 timeouts, or
// 1,024 chunks of 13 timeouts, at a time, except to drain the intake of a sleeping worker.
// A hidden or paused page counts as closed. Sections are read every two seconds; after a
// slow read the pause is twenty times the duration of the read, up to ten seconds. All
// pages share this work.
package inspect

import (
	"cmp"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/check"
	"github.com/hashedwheel/hwt/internal/inspection"
)

// Options configures [Handler].
type Options struct {
	// Timers holds the timers to show by name. Nil timers are left out. A wrapper around
	// one of this module's timers has no wheel on the page, and counts only with the method
	// Stats of [hwt.Engine].
	Timers map[string]hwt.Timer

	// DynamicTimers returns timers that come and go. The handler calls it for each
	// reading, concurrently from several goroutines, and reads the map after the call
	// without a lock: return a map that does not change any more. If a name is also in Timers, the
	// handler shows the timer in Timers. The default, nil, adds no timers.
	DynamicTimers func() map[string]hwt.Timer

	// Sections are shown below the timers, in this order. Nil sections are left out.
	Sections []Section
}

// Handler returns a handler that shows timers. Nil options show no timers. The handler is
// safe for concurrent use and works below any path that ends in a slash.
//
// The handler runs goroutines only while a page is open, or while a [Section] ignores the
// end of the context. [http.Server.Shutdown] ends open pages.
func Handler(options *Options) http.Handler {
	h := &handler{}
	if options != nil {
		h.fixed, h.dynamic = maps.Clone(options.Timers), options.DynamicTimers
		h.hub.sections = newSectionReaders(options.Sections)
	}
	h.hub.timers, h.hub.scanning = h.timers, make(chan struct{}, 1)
	return h
}

type handler struct {
	fixed   map[string]hwt.Timer        // Immutable after Handler.
	dynamic func() map[string]hwt.Timer // Immutable after Handler.
	hub     hub                         // Safe for concurrent use.
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
		writeJSON(w, map[string]any{"timers": showAll(h.timers()), "lateness_bounds_ns": bounds})
	case "pending.json":
		h.servePending(w, r)
	case "sections.json":
		writeJSON(w, map[string]any{"sections": readAll(r.Context(), h.hub.sections)})
	case "events":
		h.serveEvents(w, r)
	default:
		http.Error(w, "not found (expected: "+dir+" and timers.json, pending.json, sections.json or events there)", http.StatusNotFound)
	}
}

// serveIndex writes the page, or plain text to clients that do not accept HTML.
func (h *handler) serveIndex(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if html := quality(r.Header, "text/html"); html == 0 || html < quality(r.Header, "text/plain") {
		h.serveText(w, r)
		return
	}
	_ = shutdownOf(r) // The page's events may come after Shutdown has begun: too late to register.
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page.html)
}

// quality returns the weight of a media type in the Accept headers, from 0 to 1, and 0 if it is
// not named: clients such as curl accept */*.
func quality(header http.Header, media string) float64 {
	for accepted := range strings.SplitSeq(strings.Join(header.Values("Accept"), ","), ",") {
		name, params, err := mime.ParseMediaType(accepted)
		if name != media || err != nil {
			continue
		}
		q, err := strconv.ParseFloat(cmp.Or(params["q"], "1"), 64)
		if err == nil && q >= 0 && q <= 1 {
			return q
		}
	}
	return 0
}

// timer is one of the timers that the handler shows.
type timer struct {
	name  string
	timer hwt.Timer
	view  inspection.View // nil without a wheel
}

// timers returns the current timers, ordered by name.
func (h *handler) timers() []timer {
	all := make(map[string]hwt.Timer)
	if h.dynamic != nil {
		maps.Copy(all, h.dynamic())
	}
	maps.Copy(all, h.fixed)
	timers := make([]timer, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if t := all[name]; !check.IsNil(t) {
			view, _ := inspection.Of(t)
			timers = append(timers, timer{name, t, view})
		}
	}
	return timers
}
