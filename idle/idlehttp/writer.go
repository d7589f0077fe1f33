package idlehttp

import (
	"net/http"
	"sync"

	"github.com/hashedwheel/hwt/idle"
)

// http2Writer has the methods of the response writers of HTTP/2 servers.
type http2Writer interface {
	http.ResponseWriter
	http.Flusher
	http.Pusher
	CloseNotify() <-chan bool
	FlushError() error
	WriteString(string) (int, error)
}

// writer pauses its handler's hold during each write. Flow control can block such
// a write while no write to the connection is in progress.
type writer struct {
	http2Writer
	watch *idle.Watch // Immutable.

	mu      sync.Mutex
	release func() // ends the hold; nil during a write and after the handler. Guarded by mu.
	writes  int    // in progress, and one more once the handler has returned. Guarded by mu.
}

// pause ends the hold until resume is called as often as pause.
func (w *writer) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writes++; w.writes == 1 {
		w.release()
		w.release = nil
	}
}

func (w *writer) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writes--; w.writes == 0 {
		w.release = w.watch.Hold()
	}
}

// Write implements [http.ResponseWriter].
func (w *writer) Write(p []byte) (int, error) {
	w.pause()
	defer w.resume()
	return w.http2Writer.Write(p)
}

// WriteString implements [io.StringWriter].
func (w *writer) WriteString(s string) (int, error) {
	w.pause()
	defer w.resume()
	return w.http2Writer.WriteString(s)
}

// Flush implements [http.Flusher].
func (w *writer) Flush() {
	w.pause()
	defer w.resume()
	w.http2Writer.Flush()
}

// FlushError is Flush for an [http.ResponseController].
func (w *writer) FlushError() error {
	w.pause()
	defer w.resume()
	return w.http2Writer.FlushError()
}

// Unwrap returns the server's writer, for an [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.http2Writer }
