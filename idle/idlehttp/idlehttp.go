// Package idlehttp prepares an [http.Server] for package [idle].
//
//	server := &http.Server{Handler: handler}
//	idlehttp.HoldHandlers(server)
//	err := server.Serve(reaper.Listener(listener))
//
// A reaper only sees bytes. So it closes a connection whose handler works for
// longer than the idle timeout without reading or writing. Use this package if
// handlers may do that: it holds the connection while a handler runs.
//
// It is separate so that package idle does not import net/http.
package idlehttp

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/hashedwheel/hwt/idle"
)

// HoldHandlers changes server so that it holds a connection of a reaper (see
// [idle.Watch.Hold]) while a handler runs. An HTTP/2 connection is held until the
// last of its concurrent handlers has returned. Hijack ends the hold: from then
// on the connection is idle when no bytes move.
//
// HoldHandlers replaces the fields Handler, ConnContext and ConnState by functions
// that call the former ones. Call it after these fields are set, and before Serve.
//
// A handler that waits for the body of its request holds its connection, too. To
// bound how long a client may take for it, set ReadTimeout or
// [idle.Options.MaxAge]. A client that does not read the answer is closed in
// spite of the hold.
//
// Each request costs one hold and a few small allocations.
func HoldHandlers(server *http.Server) {
	h := &holder{handler: server.Handler, connContext: server.ConnContext, connState: server.ConnState}
	if h.handler == nil {
		h.handler = http.DefaultServeMux
	}
	server.Handler, server.ConnContext, server.ConnState = h, h.newConn, h.setState
}

// holder has the former functions of a server, and its connections.
type holder struct {
	handler     http.Handler                                    // Immutable after HoldHandlers.
	connContext func(context.Context, net.Conn) context.Context // Immutable after HoldHandlers. May be nil.
	connState   func(net.Conn, http.ConnState)                  // Immutable after HoldHandlers. May be nil.
	conns       sync.Map                                        // *idle.Watch to *conn
}

// conn is one connection.
type conn struct {
	watch   *idle.Watch            // Immutable after newConn.
	release atomic.Pointer[func()] // of the latest hold. Atomic: written by handlers, read by Hijack.
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

// setState is the server's ConnState. Every connection ends in one of two states.
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

// hijacked releases the hold of the handler. Only HTTP/1 connections can be
// hijacked, and those have one handler at a time.
func (c *conn) hijacked() {
	if release := c.release.Load(); release != nil {
		(*release)()
	}
}

// ServeHTTP implements http.Handler.
func (h *holder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c, ok := r.Context().Value(h).(*conn); ok {
		release := c.watch.Hold()
		defer release()
		c.release.Store(&release)
	}
	h.handler.ServeHTTP(w, r)
}
