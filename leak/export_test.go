package leak

import "log/slog"

// Internals for tests.
var (
	CurrentLevel = currentLevel
	ReadSettings = readSettings
	Replaces     = replaces
	TextOf       = textOf
)

// Values returns the fields of s.
func (s envSettings) Values() (level Level, targetRecords, samplingInterval int) {
	return s.level, s.targetRecords, s.samplingInterval
}

// Warn logs the invalid variables of s.
func (s envSettings) Warn(log *slog.Logger) { s.warn(log) }

// Kept returns the hints of t's records, newest first, and the number discarded.
func (t *Tracker) Kept() (hints []string, discarded int) {
	newest := t.records.newest.Load()
	for r := newest; r != nil; r = r.older {
		hints = append(hints, r.hint)
	}
	if newest != nil {
		discarded = newest.discarded
	}
	return hints, discarded
}

// Hold makes Close wait where it leaves s, until release is called.
func (s *Scope) Hold() (release func()) {
	s.mu.Lock()
	return s.mu.Unlock
}

// ParseLevel is parseLevel.
var ParseLevel = parseLevel
