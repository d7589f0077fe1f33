//go:build race

package embedded

import "time"

// leastSyncInterval is the shortest interval that the server gets. It starts the
// timer of its syncs before it stores it. The race detector reports that if the
// timer ends, after half the interval, before the goroutine that started it goes
// on, as happens on a busy machine.
const leastSyncInterval = 10 * time.Second
