// Ported to Go from ResourceLeakDetector of the Netty Project, and changed.
// Copyright 2013 The Netty Project. Apache License 2.0; see NOTICE.

package leak

import (
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/hashedwheel/hwt/internal/check"
)

// Level selects the tracked resources and the recorded details of a process. The values and
// the order are the same as in Netty's ResourceLeakDetector.Level.
type Level int32

// The levels, from the cheapest to the most thorough.
const (
	// LevelDisabled tracks nothing. A [Scope] still counts.
	LevelDisabled Level = iota

	// LevelSimple tracks a sample of the resources, by default one in 128, with creation
	// and hints. LevelSimple is the default.
	LevelSimple

	// LevelAdvanced also records the place of each access: every Record captures a
	// stack.
	LevelAdvanced

	// LevelParanoid is LevelAdvanced for every resource. LevelParanoid is meant for tests.
	LevelParanoid
)

const levelNames = "disabled, simple, advanced, paranoid"

// String returns the level's name in lower case, or "Level(n)" for a value that
// is not a level.
func (l Level) String() string {
	if !l.valid() {
		return "Level(" + strconv.Itoa(int(l)) + ")"
	}
	return strings.Split(levelNames, ", ")[l]
}

func (l Level) valid() bool { return LevelDisabled <= l && l <= LevelParanoid }

// parseLevel returns the level with the given name, in any case, or with the given number
// from 0 to 3. Space around the text is ignored. For any other text, parseLevel returns
// LevelSimple, as Netty does, and an error that names the text and the valid values.
func parseLevel(text string) (Level, error) {
	trimmed := strings.TrimSpace(text)
	for l := LevelDisabled; l <= LevelParanoid; l++ {
		if strings.EqualFold(trimmed, l.String()) || trimmed == strconv.Itoa(int(l)) {
			return l, nil
		}
	}
	return LevelSimple, check.Errorf("leak: unknown level %q (expected: %s, or 0 to %d)", text, levelNames, LevelParanoid)
}

// Ground rules: a reader that finds the level unset takes the environment's by one
// compare-and-swap, so a concurrent SetLevel wins. A set level stays set. The goroutine
// that sets it reports the environment's invalid variables.

// level is the process's level plus one. Zero means that the environment has not
// been read. Atomic: written by firstLevel once and by SetLevel, read by every
// Track.
var level atomic.Int32

// currentLevel returns the process's level. currentLevel costs one atomic load.
func currentLevel() Level {
	if l := level.Load(); l != 0 {
		return Level(l - 1)
	}
	return firstLevel() // outlined: once per process
}

func firstLevel() Level {
	if env := environment(); level.CompareAndSwap(0, int32(env.level)+1) { // fails after another first use
		env.warn(slog.Default())
	}
	return Level(level.Load() - 1)
}

// SetLevel sets the level of later calls of Track and returns the previous level.
// Resources that are already tracked are still reported. An invalid level means
// LevelSimple. SetLevel is safe for concurrent use.
func SetLevel(l Level) (before Level) {
	if !l.valid() {
		l = LevelSimple
	}
	currentLevel() // reads the environment for the previous level
	return Level(level.Swap(int32(l)+1) - 1)
}
