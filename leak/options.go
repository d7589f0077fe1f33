package leak

import (
	"log/slog"

	"github.com/hashedwheel/hwt/internal/check"
)

// Options are the settings of a [Detector]. The zero value of each field is the default.
type Options struct {
	// ReleaseMethod is the name of the method that releases a resource. Reports contain the
	// name: "hashedwheel.Timer.Stop() was not called". The default is "Close".
	ReleaseMethod string

	// Listener receives the reports. By default reports are logged.
	//
	// Listener is called on a goroutine of the runtime, concurrently if several resources
	// leak. Every cleanup of the process may wait for Listener, so the call must return
	// soon. Listener must not end the goroutine, as [testing.T.FailNow] does. Listener runs
	// outside all testing/synctest bubbles and must not use channels or timers of a bubble.
	// If Listener panics, the panic and the report are logged.
	Listener func(Report)

	// Logger receives the reports, at level error, if Listener is nil. The default
	// is slog.Default at the time of the report.
	Logger *slog.Logger

	// SamplingInterval n tracks one resource in n, below [LevelParanoid]. The range is 1,
	// which tracks every resource, to 1<<30. 1 suits resources that are few and costly to
	// lose, such as timers with goroutines. The default, 0, means the value of the
	// environment, or 128.
	SamplingInterval int

	// TargetRecords is the approximate number of access records kept per resource, from 1
	// to 1024. Beyond that number, older records are discarded with growing probability.
	// The default, 0, means the value of the environment, or 4.
	TargetRecords int

	// Scope counts every resource passed to Track, sampled or not, at every
	// level. By default only the scopes that watch all detectors count (see
	// [Scope.Watch]).
	Scope *Scope
}

// check returns an error if a field is out of range.
func (o *Options) check() error {
	_, err := check.OrDefault("leak", "SamplingInterval", o.SamplingInterval, 0, 1, maxSamplingInterval)
	if err != nil {
		return err
	}
	_, err = check.OrDefault("leak", "TargetRecords", o.TargetRecords, 0, 1, maxTargetRecords)
	return err
}
