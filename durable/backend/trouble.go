package backend

import (
	"log/slog"
	"sync"
	"time"
)

// Trouble counts the errors for which calls and workers wait for the database, and logs them. It is
// safe for concurrent use.
type Trouble struct {
	logger *slog.Logger // Immutable.

	mu     sync.Mutex
	count  int64                // Guarded by mu.
	last   error                // Guarded by mu.
	at     time.Time            // of last. Guarded by mu.
	logged map[string]time.Time // by message and cause. Guarded by mu.
}

// TroubleEvery is the pause after which the same cause is logged again.
const TroubleEvery = time.Minute

// NewTrouble returns a Trouble without errors.
func NewTrouble(logger *slog.Logger) *Trouble {
	return &Trouble{logger: logger, logged: make(map[string]time.Time)}
}

// Note counts an error. It logs the error with the message and args, unless it has logged the
// message with the same cause in the last TroubleEvery.
func (t *Trouble) Note(message, cause string, err error, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.count++
	t.last, t.at = err, now
	if kind := message + cause; now.Sub(t.logged[kind]) >= TroubleEvery {
		if len(t.logged) > 100 { // of texts that vary
			clear(t.logged)
		}
		t.logged[kind] = now
		t.logger.Warn(message, append([]any{"error", err}, args...)...)
	}
}

// Last returns the number of errors, and the last error with its time, or nil before the first.
func (t *Trouble) Last() (count int64, err error, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count, t.last, t.at
}
