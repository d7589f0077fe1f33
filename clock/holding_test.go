package clock_test

import (
	"sync"
	"time"

	"github.com/hashedwheel/hwt"
)

// holding is a timer whose tasks a test can hold back: timeouts expire, but their tasks run
// at the release, or never.
type holding struct {
	hwt.Timer
	mu    sync.Mutex
	holds bool
	held  []func()
}

func (h *holding) NewTimeout(task hwt.TimerTask, d time.Duration) (hwt.Timeout, error) {
	return h.Timer.NewTimeout(heldTask{task, h}, d)
}

type heldTask struct {
	hwt.TimerTask
	by *holding
}

func (t heldTask) Unwrap() hwt.TimerTask { return t.TimerTask }

func (t heldTask) Run(timeout hwt.Timeout) error {
	t.by.mu.Lock()
	if t.by.holds {
		t.by.held = append(t.by.held, func() { _ = t.TimerTask.Run(timeout) })
		t.by.mu.Unlock()
		return nil
	}
	t.by.mu.Unlock()
	return t.TimerTask.Run(timeout)
}

func (h *holding) hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holds = true
}

// lose discards the tasks that were held back and ends the holding.
func (h *holding) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held, h.holds = nil, false
}

// release runs the tasks that were held back and ends the holding.
func (h *holding) release() {
	h.mu.Lock()
	held := h.held
	h.held, h.holds = nil, false
	h.mu.Unlock()
	for _, run := range held {
		run()
	}
}
