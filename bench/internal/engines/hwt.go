package engines

import (
	"time"

	"github.com/hashedwheel/hwt"
)

// contract adapts every engine of ours.
type contract struct {
	timer hwt.Engine
}

func (c contract) Schedule(delay time.Duration, f func()) Handle {
	timeout, err := c.timer.AfterFunc(delay, f)
	if err != nil {
		panic(err) // without a limit or a stop, it cannot fail
	}
	return timeout
}

func (c contract) Cancel(h Handle) bool { return h.(hwt.Timeout).Cancel() }

func (c contract) Reset(h Handle, delay time.Duration, _ func()) Handle {
	h.(hwt.Timeout).Reset(delay)
	return h
}
