package hashedwheel

import (
	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/engine"
	"github.com/hashedwheel/hwt/internal/enginekit"
	"github.com/hashedwheel/hwt/internal/inspection"
)

// Rings implements engine.Wheel.
func (w *wheel) Rings(rings []engine.Ring) []engine.Ring {
	return append(rings, engine.Ring{Buckets: w.size, Span: 1})
}

var _ = inspection.Register(func(timer hwt.Timer) (inspection.View, bool) {
	t, ok := timer.(*Timer)
	if !ok {
		return nil, false
	}
	return engine.View{Handle: &t.handle}, true
})

var _ = enginekit.RegisterEnded(func(timer hwt.Timer) (<-chan struct{}, bool) {
	t, ok := timer.(*Timer)
	if !ok {
		return nil, false
	}
	return t.handle.Ended(), true
})
