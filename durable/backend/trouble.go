package backend

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Trouble counts the errors for which calls and workers wait for the database. It logs them, and other
// events of a store that may repeat. Its zero value has no errors. It is safe for concurrent use.
type Trouble struct {
	mu     sync.Mutex
	count  int64                // Guarded by mu.
	last   error                // Guarded by mu.
	at     time.Time            // of last. Guarded by mu.
	logged map[string]time.Time // by message and cause. Guarded by mu.
}

// TroubleEvery is the pause after which the same cause is logged again.
const TroubleEvery = time.Minute

// Note counts an error, and logs it as Log does.
func (t *Trouble) Note(logger *slog.Logger, message, cause string, err error, args ...any) {
	t.mu.Lock()
	t.count++
	t.last, t.at = err, time.Now()
	t.mu.Unlock()
	t.Log(logger, slog.LevelWarn, message, cause, append([]any{"error", err}, args...)...)
}

// Log logs a message with args, unless it has logged the message with the same cause in the last TroubleEvery.
func (t *Trouble) Log(logger *slog.Logger, level slog.Level, message, cause string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, kind := time.Now(), message+cause
	if at, known := t.logged[kind]; known && now.Sub(at) < TroubleEvery {
		return
	}
	if t.logged == nil || len(t.logged) > 100 { // of texts that vary
		t.logged = make(map[string]time.Time)
	}
	t.logged[kind] = now
	logger.Log(context.Background(), level, message, args...)
}

// Last returns the number of errors, and the last error with its time, or nil before the first.
func (t *Trouble) Last() (count int64, at time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count, t.at, t.last
}
