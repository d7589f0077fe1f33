package hashedwheel

import (
	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine"
	"github.com/hashedwheel/hwt/internal/inspection"
)

// Rings describes the wheel to package inspect.
func (w *wheel) Rings(rings []engine.Ring) []engine.Ring {
	return append(rings, engine.Ring{Buckets: w.size, Span: 1})
}

// view is a timer as package inspect sees it.
type view struct{ *Timer }

var _ = inspection.Register(func(timer hwt.Timer) (inspection.View, bool) {
	t, ok := timer.(*Timer)
	return view{t}, ok
})

// Name implements inspection.View.
func (v view) Name() string { return v.options.Name }

// Workers implements inspection.View.
func (v view) Workers() []inspection.Worker { return v.handle.Workers() }
