package leak

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
)

// Level says how much a process spends on finding leaks. Its values and their
// order are those of Netty's ResourceLeakDetector.Level.
type Level int32

// The levels, from nothing to everything.
const (
	// Disabled tracks nothing and costs nothing. A Scope counts all the same.
	Disabled Level = iota

	// Simple tracks one resource in 128 with the place that created it, and
	// the hints recorded, but not where. It is the default.
	Simple

	// Advanced tracks one resource in 128, also with the places that accessed
	// it: every Record captures a stack.
	Advanced

	// Paranoid tracks every resource as Advanced does. For tests.
	Paranoid
)

const levelNames = "disabled, simple, advanced, paranoid"

// String returns the level's name in lower case, or "Level(n)" for a value that
// is none.
func (l Level) String() string {
	if !l.valid() {
		return "Level(" + strconv.Itoa(int(l)) + ")"
	}
	return strings.Split(levelNames, ", ")[l]
}

func (l Level) valid() bool { return Disabled <= l && l <= Paranoid }

// ParseLevel reads a level by its name in any case, or by its ordinal 0 to 3;
// space around it does not count. Anything else is Simple, as Netty has it, and
// an error that names the text and what is allowed.
func ParseLevel(text string) (Level, error) {
	trimmed := strings.TrimSpace(text)
	for l := Disabled; l <= Paranoid; l++ {
		if strings.EqualFold(trimmed, l.String()) || trimmed == strconv.Itoa(int(l)) {
			return l, nil
		}
	}
	return Simple, fmt.Errorf("leak: unknown level %q, allowed are %s or 0 to %d", text, levelNames, Paranoid)
}

// Ground rules: whoever finds the level unset sets it from the environment by
// one compare-and-swap, so a SetLevel meanwhile wins; once set it stays set.

// level holds the process's level plus one; zero means that it is still to be
// read from the environment. Atomic: written by GetLevel once and by SetLevel,
// read by every Track.
var level atomic.Int32

// GetLevel returns the level in force. Safe for concurrent use; one atomic load.
func GetLevel() Level {
	if l := level.Load(); l != 0 {
		return Level(l - 1)
	}
	return firstLevel() // outlined: once per process
}

func firstLevel() Level {
	level.CompareAndSwap(0, int32(environment().level)+1) // loses to a SetLevel meanwhile
	return Level(level.Load() - 1)
}

// SetLevel changes the level for what is tracked from now on and returns the
// one before; a resource tracked already is still reported. A value that is no
// level means Simple. Safe for concurrent use.
func SetLevel(l Level) (before Level) {
	if !l.valid() {
		l = Simple
	}
	GetLevel() // so that there is one before
	return Level(level.Swap(int32(l)+1) - 1)
}
