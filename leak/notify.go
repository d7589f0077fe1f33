package leak

import (
	"hash/maphash"
	"log/slog"

	"github.com/hashedwheel/hwt/internal/inspection"
	"github.com/hashedwheel/hwt/internal/usercode"
)

// Ground rules: leaked runs on goroutines of the runtime, outside all bubbles, and concurrently
// with itself. leaked waits only for mu. mu is held for a map access and never while user code
// runs. A panic must not leave leaked, or the process would end.

var seed = maphash.MakeSeed()

// leaked counts a leak, and delivers the report unless the same text was delivered before.
func (c *core) leaked(r Report) {
	c.leaks.Add(1)
	text := r.String()
	if !c.isNew(text) {
		c.duplicates.Add(1)
		return
	}
	inspection.AddLeak(c.resourceType, text)
	c.deliver(r)
}

func (c *core) isNew(text string) bool {
	hash := maphash.String(seed, text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.reported[hash]; known {
		return false
	}
	if c.reported == nil {
		c.reported = make(map[uint64]struct{})
	}
	c.reported[hash] = struct{}{}
	return true
}

// deliver passes r to the listener. deliver logs r if the listener is nil or fails.
func (c *core) deliver(r Report) {
	if c.options.Listener == nil {
		c.log(r.String())
		return
	}
	usercode.Run(func() { c.options.Listener(r) }, func(err error) {
		c.log(r.String())
		c.log("leak: listener failed", "error", textOf(err))
	})
}

// log writes to the log. log discards a panic of the log's handler: no other place could
// report the panic.
func (c *core) log(message string, args ...any) {
	defer func() { _ = recover() }()
	logger := c.options.Logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.Error(message, append(args, "resource", c.resourceType)...)
}
