package hierarchical

import (
	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine"
	"github.com/hashedwheel/hwt/internal/inspection"
)

// Rings describes the levels to package inspect.
func (w *wheel) Rings(rings []engine.Ring) []engine.Ring {
	for i := range w.levels {
		l := &w.levels[i]
		rings = append(rings, engine.Ring{First: l.buckets[0].Value.index, Buckets: len(l.buckets), Span: l.unit})
	}
	return rings
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
