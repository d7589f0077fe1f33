package inspect

import (
	"net/http"
	"runtime"
	"sync"
	"time"
	"weak"
)

// writeWithin limits the time that a client takes to receive an event.
const writeWithin = 10 * time.Second

// serveEvents sends the hub's events until the page closes or the server shuts down.
func (h *handler) serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store, no-transform") // compression would hold events back
	w.Header().Set("X-Accel-Buffering", "no")                 // so would nginx
	if r.Method == http.MethodHead {
		return
	}
	down := shutdownOf(r)
	h.hub.join()
	defer h.hub.leave()
	response := http.NewResponseController(w)
	sent := make([]int, topics+len(h.hub.sections)) // versions
	for {
		latest, news := h.hub.look()
		// The server's WriteTimeout suits responses that end. Some writers have no deadline.
		_ = response.SetWriteDeadline(time.Now().Add(writeWithin))
		for topic, p := range latest {
			if p.version == sent[topic] {
				continue
			}
			sent[topic] = p.version
			if _, err := w.Write(p.event); err != nil {
				return
			}
		}
		if response.Flush() != nil {
			return
		}
		select {
		case <-news:
		case <-r.Context().Done():
			return
		case <-down:
			return
		}
	}
}

// servers maps a weak pointer to each *http.Server that served a page to a channel. The
// channel is closed when the server begins to shut down, and stays for late requests. The
// pointer is weak because a server does not report its Close.
var servers sync.Map

// shutdownOf returns a channel that is closed when the request's server begins to shut
// down, because Shutdown waits for requests to end. It returns nil for an unknown server.
func shutdownOf(r *http.Request) <-chan struct{} {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return nil
	}
	key := weak.Make(server)
	created := make(chan struct{})
	down, known := servers.LoadOrStore(key, created)
	if !known {
		server.RegisterOnShutdown(sync.OnceFunc(func() { close(created) })) // Shutdown may be called again
		runtime.AddCleanup(server, func(key weak.Pointer[http.Server]) { servers.Delete(key) }, key)
	}
	return down.(chan struct{})
}
