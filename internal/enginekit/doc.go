// Package enginekit holds the parts that every engine shares: running tasks and
// callbacks, log attributes and pprof labels, the pending limit, the clock that
// detects synctest bubbles, and recorded callers.
package enginekit
