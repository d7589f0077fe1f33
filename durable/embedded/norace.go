//go:build !race

package embedded

import "time"

// leastSyncInterval is the shortest interval that the server gets.
const leastSyncInterval time.Duration = 0
