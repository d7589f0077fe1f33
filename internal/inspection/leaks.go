package inspection

import (
	"slices"
	"sync"
	"time"
)

const (
	maxLeaks    = 20
	maxLeakText = 8 << 10 // bytes per report
)

// Leak is a leak that package leak reported, as the page receives it.
type Leak struct {
	At   time.Time `json:"at"`
	Type string    `json:"type"` // of the resource
	Text string    `json:"text"` // the report, in several lines
}

var (
	mu    sync.Mutex
	leaks []Leak // the newest last. Guarded by mu.
)

// AddLeak records a report and discards the oldest of more than 20. It never
// panics.
func AddLeak(resourceType, text string) {
	if len(text) > maxLeakText {
		text = text[:maxLeakText] + "…"
	}
	mu.Lock()
	defer mu.Unlock()
	if len(leaks) == maxLeaks {
		leaks = slices.Delete(leaks, 0, 1)
	}
	leaks = append(leaks, Leak{time.Now(), resourceType, text})
}

// Leaks returns the recorded reports, the newest first.
func Leaks() []Leak {
	mu.Lock()
	defer mu.Unlock()
	newestFirst := append([]Leak{}, leaks...) // not null in JSON
	slices.Reverse(newestFirst)
	return newestFirst
}
