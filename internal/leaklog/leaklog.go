// Package leaklog keeps the latest reports of package leak for package inspect.
package leaklog

import (
	"slices"
	"sync"
	"time"
)

// keep is how many reports are kept, and maxText how many bytes of each.
const (
	keep    = 20
	maxText = 8 << 10
)

// Entry is a leak that was reported.
type Entry struct {
	At   time.Time
	Type string // of the resource
	Text string // the report, in several lines
}

var (
	mu     sync.Mutex
	latest []Entry // the newest last. Guarded by mu.
)

// Add keeps a report. It does not block for long, and never panics.
func Add(resourceType, text string) {
	if len(text) > maxText {
		text = text[:maxText] + "…"
	}
	mu.Lock()
	defer mu.Unlock()
	if len(latest) == keep {
		latest = slices.Delete(latest, 0, 1)
	}
	latest = append(latest, Entry{time.Now(), resourceType, text})
}

// Latest returns the latest reports, the newest first.
func Latest() []Entry {
	mu.Lock()
	defer mu.Unlock()
	entries := slices.Clone(latest)
	slices.Reverse(entries)
	return entries
}
