package clock_test

import (
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// wrapping is a timer that wraps its tasks and timeouts, for metrics or traces. A task
// therefore gets a different handle than the caller of NewTimeout.
type wrapping struct{ hwt.Engine }

func newWrapping() (hwt.Engine, error) {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: tick})
	return wrapping{timer}, err
}

func (w wrapping) NewTimeout(task hwt.TimerTask, d time.Duration) (hwt.Timeout, error) {
	timeout, err := w.Engine.NewTimeout(wrappedTask{task}, d)
	if err != nil {
		return nil, err
	}
	return &wrappedTimeout{Timeout: timeout}, nil
}

type wrappedTask struct{ hwt.TimerTask }

func (w wrappedTask) Unwrap() hwt.TimerTask { return w.TimerTask }

type wrappedTimeout struct{ hwt.Timeout }
