package durable

import (
	"cmp"
	"fmt"
	"strings"
)

// Reason is the reason for which an entry became a dead letter. The zero Reason is of entries that did not.
type Reason int

const (
	Failed  Reason = iota + 1 // its last attempt failed
	Expired                   // no further attempt could begin by its NotAfter
	Crashed                   // MaxCrashes of its claims ended without an outcome
)

var reasons = map[Reason]string{0: "none", Failed: "failed", Expired: "expired", Crashed: "crashed"}

// String returns "none", "failed", "expired", or "crashed".
func (r Reason) String() string { return cmp.Or(reasons[r], fmt.Sprintf("Reason(%d)", int(r))) }

// errTooLate is the error of a dead letter with the Reason Expired.
var errTooLate = fmt.Errorf("durable: the entry could not fire by its NotAfter")

// errCrashed begins the error of a dead letter with the Reason Crashed.
var errCrashed = fmt.Errorf("durable: claims of the entry ended without an outcome, as after a crash of the worker")

// reasonOf returns the reason for the error of a dead letter.
func reasonOf(text string) Reason {
	switch {
	case text == errTooLate.Error():
		return Expired
	case strings.HasPrefix(text, errCrashed.Error()):
		return Crashed
	}
	return Failed
}
