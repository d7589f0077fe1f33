package sqlite

import (
	"sync"

	"github.com/hashedwheel/hwt/durable/backend"
)

// watchers are the workers of a store.
type watchers struct {
	watchMu sync.Mutex
	all     map[*func([]backend.Row)]bool // Guarded by watchMu.
}

// Watch implements backend.Backend.
func (w *watchers) Watch(near func(rows []backend.Row)) (stop func()) {
	w.watchMu.Lock()
	defer w.watchMu.Unlock()
	w.all[&near] = true
	return func() {
		w.watchMu.Lock()
		defer w.watchMu.Unlock()
		delete(w.all, &near)
	}
}

// announce passes near rows to the watchers.
func (w *watchers) announce(rows []backend.Row) {
	w.watchMu.Lock()
	defer w.watchMu.Unlock()
	for near := range w.all {
		(*near)(rows)
	}
}
