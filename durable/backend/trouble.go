package backend

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// Trouble counts the errors for which calls and workers wait for the database. It logs them, and other
// events of a store that may repeat. Its zero value has no errors. It is safe for concurrent use.
type Trouble struct {
	mu     sync.Mutex
	count  int64                           // Guarded by mu.
	last   error                           // Guarded by mu.
	at     time.Time                       // of last. Guarded by mu.
	logged map[string]map[string]time.Time // by message and cause. Guarded by mu.
}

// TroubleEvery is the pause after which the same cause is logged again.
const TroubleEvery = time.Minute

// maxCauses is the number of causes of one message that are logged within TroubleEvery.
const maxCauses = 100

// Note counts an error, and logs it as Log does.
func (t *Trouble) Note(logger *slog.Logger, message, cause string, err error, args ...any) {
	t.add(err)
	t.Log(logger, slog.LevelWarn, message, cause, append([]any{"error", err}, args...)...)
}

// NoteApart is Note for callers for which a handler of the logger may wait: it logs in another goroutine.
func (t *Trouble) NoteApart(logger *slog.Logger, message, cause string, err error) {
	if t.add(err); t.isNew(message, cause, time.Now()) {
		go logger.Warn(message, "error", err)
	}
}

func (t *Trouble) add(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	t.last, t.at = err, time.Now()
}

// Log logs a message with args, unless it has logged the message with the same cause in the last TroubleEvery,
// or with 100 other causes.
func (t *Trouble) Log(logger *slog.Logger, level slog.Level, message, cause string, args ...any) {
	if t.isNew(message, cause, time.Now()) {
		logger.Log(context.Background(), level, message, args...)
	}
}

// isNew reports whether a message with a cause is to be logged now, and notes that it is. A message with many causes,
// as with one for each series, does not keep other messages out of the log.
func (t *Trouble) isNew(message, cause string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	causes := t.logged[message]
	if at, known := causes[cause]; known && now.Sub(at) < TroubleEvery {
		return false
	}
	if len(causes) >= maxCauses {
		maps.DeleteFunc(causes, func(_ string, at time.Time) bool { return now.Sub(at) >= TroubleEvery })
	}
	switch {
	case t.logged == nil:
		t.logged = make(map[string]map[string]time.Time)
		fallthrough
	case causes == nil:
		causes = make(map[string]time.Time)
		t.logged[message] = causes
	case len(causes) >= maxCauses:
		return false
	}
	causes[cause] = now
	return true
}

// Last returns the number of errors, and the last error with its time, or nil before the first.
func (t *Trouble) Last() (count int64, at time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count, t.at, t.last
}
