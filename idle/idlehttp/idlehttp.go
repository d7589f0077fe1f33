// Package idlehttp prepares an [http.Server] for package [idle], which closes connections
// that move no bytes. The server's own IdleTimeout acts between requests only, and
// ReadTimeout and WriteTimeout limit whole requests and responses: a slow download ends, even
// if the download makes progress. With few connections, or without long requests, these
// suffice.
//
//	server := &http.Server{Handler: handler}
//	idlehttp.HoldHandlers(server)
//	err := server.Serve(reaper.Listener(listener))
//
// A reaper sees only bytes. The reaper closes a connection if the handler works longer than
// the idle timeout without reading or writing. This package holds the connection while a
// handler runs.
//
// The package is separate so that package idle does not import net/http.
package idlehttp

import (
	"context"
	"net"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/hashedwheel/hwt/idle"
)

// HoldHandlers makes server hold a reaper's connection while a handler runs (see
// [idle.Watch.Hold]). An HTTP/2 connection stays held until its last concurrent
// handler returns. Hijack ends the hold; the connection is then idle when no
// bytes move.
//
// The hold is suspended while a handler writes or flushes a response. The reaper closes the
// connection of a client that does not read, unless another handler of the connection holds it.
//
// A handler that waits for the request's body holds the connection. Set ReadTimeout or
// [idle.Options.MaxAge] to limit the wait.
//
// HoldHandlers replaces the fields Handler, ConnContext, and ConnState with functions that
// call the previous functions. Call HoldHandlers after setting the fields and before Serve.
// If Handler is a result of golang.org/x/net/http2/h2c.NewHandler, HoldHandlers instead
// replaces the handler within it. Other handlers that hijack a connection and serve HTTP/2
// must call [idle.Watch.Hold] themselves.
//
// Each request costs one hold and a few small allocations. Each write or flush of an HTTP/2
// response costs one more hold, with two allocations.
func HoldHandlers(server *http.Server) {
	h := &holder{handler: server.Handler, connContext: server.ConnContext, connState: server.ConnState}
	if h.handler == nil {
		h.handler = http.DefaultServeMux
	}
	server.ConnContext, server.ConnState = h.newConn, h.setState
	if inner, ok := h2cHandler(h.handler); ok {
		h.handler = inner.Interface().(http.Handler)
		inner.Set(reflect.ValueOf(h))
		return
	}
	server.Handler = h
}

// h2cHandler returns the field for the inner handler if outer is a handler of package
// golang.org/x/net/http2/h2c. Such a handler hijacks HTTP/2 connections, and calls the inner
// handler for each request. This package does not import h2c, because few programs use h2c.
func h2cHandler(outer http.Handler) (inner reflect.Value, ok bool) {
	v := reflect.ValueOf(outer)
	if v.Kind() != reflect.Pointer || v.Type().Elem().PkgPath() != "golang.org/x/net/http2/h2c" || v.Elem().Kind() != reflect.Struct {
		return inner, false
	}
	inner = v.Elem().FieldByName("Handler")
	return inner, inner.IsValid() && inner.CanSet() && inner.Type() == reflect.TypeFor[http.Handler]() && !inner.IsNil()
}

// holder holds the previous functions of a server, and its connections.
type holder struct {
	handler     http.Handler                                    // Immutable after HoldHandlers.
	connContext func(context.Context, net.Conn) context.Context // Immutable after HoldHandlers. May be nil.
	connState   func(net.Conn, http.ConnState)                  // Immutable after HoldHandlers. May be nil.
	conns       sync.Map                                        // *idle.Watch to *conn
}

// conn is one connection.
type conn struct {
	watch   *idle.Watch            // Immutable after newConn.
	release atomic.Pointer[func()] // ends the last hold. Atomic: written by HTTP/1 handlers, read by hijacked.
}

// newConn is the server's ConnContext.
func (h *holder) newConn(ctx context.Context, c net.Conn) context.Context {
	if h.connContext != nil {
		ctx = h.connContext(ctx, c)
	}
	watch := idle.WatchOf(c)
	if watch == nil {
		return ctx
	}
	held := &conn{watch: watch}
	h.conns.Store(watch, held)
	return context.WithValue(ctx, h, held)
}

// setState is the server's ConnState. Every connection ends hijacked or closed.
func (h *holder) setState(c net.Conn, state http.ConnState) {
	if state == http.StateHijacked || state == http.StateClosed {
		if held, ok := h.conns.LoadAndDelete(idle.WatchOf(c)); ok {
			held.(*conn).hijacked()
		}
	}
	if h.connState != nil {
		h.connState(c, state)
	}
}

// hijacked releases the handler's hold. Only HTTP/1 connections can be hijacked.
// They run one handler after another.
func (c *conn) hijacked() {
	if release := c.release.Load(); release != nil {
		(*release)()
	}
}

// ServeHTTP implements [http.Handler].
func (h *holder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c, ok := r.Context().Value(h).(*conn); ok {
		release := c.watch.Hold()
		if server, ok := w.(http2Writer); ok {
			own := &writer{http2Writer: server, watch: c.watch, release: release}
			defer own.pause()
			w = own
		} else {
			defer release()
			c.release.Store(&release)
		}
	}
	h.handler.ServeHTTP(w, r)
}
