package durable

import (
	"context"
	"sync"
	"time"
)

// The bounds of a window.
const (
	windowLeast = 16
	windowFirst = 256
	windowMost  = 4096
)

// window bounds how many writes are under way at a time: as many as the server
// answers long before they time out. Many more would time out on a slow server, and
// each would then be read and written again.
type window struct {
	ctx     context.Context
	timeout time.Duration

	mu    sync.Mutex
	room  sync.Cond
	under int // Guarded by mu.
	limit int // Guarded by mu.
}

// newWindow returns a window for writes that time out after timeout. ctx ends enter,
// and must end.
func newWindow(ctx context.Context, timeout time.Duration) *window {
	w := &window{ctx: ctx, timeout: timeout, limit: windowFirst}
	w.room.L = &w.mu
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.room.Broadcast()
	})
	return w
}

// enter waits for room, and reports whether there is: not if ctx ends before.
func (w *window) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.under >= w.limit && w.ctx.Err() == nil {
		w.room.Wait()
	}
	if w.ctx.Err() != nil {
		return false
	}
	w.under++
	return true
}

// leave makes room.
func (w *window) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.under--
	w.room.Signal()
}

// answered adapts the window to how long one answer took.
func (w *window) answered(took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case took < w.timeout/8:
		w.limit = min(w.limit+1, windowMost)
		w.room.Signal()
	case took > w.timeout/4:
		w.limit = max(w.limit-1, windowLeast)
	}
}
