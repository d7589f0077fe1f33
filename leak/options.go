package leak

import (
	"log/slog"

	"github.com/hashedwheel/hwt/internal/check"
)

// Options are the settings of a [Detector]. The zero value of each field is its
// default.
type Options struct {
	// ReleaseMethod names the method that releases a resource, for reports:
	// "Stop" reads as "hashedwheel.Timer.Stop() was not called". "" is the
	// default: "Close".
	ReleaseMethod string

	// Listener receives the reports. nil is the default: they are logged.
	//
	// It is called on a goroutine of the runtime, and concurrently if several
	// resources leaked. Every cleanup of the process may wait for it, so it must
	// return soon, and it must not end its goroutine, as [testing.T.FailNow]
	// does. It runs outside of every testing/synctest bubble and must not use
	// anything that belongs to one. A panic in it is logged, with the report.
	Listener func(Report)

	// Logger receives the reports, at level error, if there is no Listener. nil
	// is the default: slog.Default at the time of the report.
	Logger *slog.Logger

	// SamplingInterval is how many resources there are for each one that is
	// tracked, below level [LevelParanoid], from 1, which tracks every resource, to
	// 1<<30. 0 is the default: what the environment says, or 128.
	SamplingInterval int

	// TargetRecords is about how many access records are kept for a resource,
	// from 1 to 1024. Up to that number all are kept; past it, older ones are
	// dropped with growing probability. 0 is the default: what the environment
	// says, or 4.
	TargetRecords int

	// Scope counts every resource that the detector is asked to track, sampled
	// or not, at every level. nil is the default: only the scopes count that
	// watch all detectors (see [Scope.Watch]).
	Scope *Scope
}

// check returns an error if a field is outside its range.
func (o *Options) check() error {
	_, err := check.OrDefault("leak", "SamplingInterval", o.SamplingInterval, 0, 1, maxSamplingInterval)
	if err != nil {
		return err
	}
	_, err = check.OrDefault("leak", "TargetRecords", o.TargetRecords, 0, 1, maxTargetRecords)
	return err
}
