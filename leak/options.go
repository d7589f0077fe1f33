package leak

import "log/slog"

// Option adjusts a Detector; see the functions that begin with With.
type Option func(*core)

// WithRelease names the method that releases a resource, for the report to say
// what was not called: "Stop" reads as "hashedwheel.Timer.Stop() was not
// called". The default, also for an empty name, is "Close".
func WithRelease(method string) Option {
	return func(c *core) {
		if method != "" {
			c.release = method
		}
	}
}

// WithListener has reports go to listener instead of the log. Nil means the log.
//
// The listener is called on a goroutine of the runtime, several at a time if
// several resources leaked, and every cleanup of the process may wait for it:
// it must return soon, and must not end its goroutine, as testing's FailNow
// does. It runs outside of any testing/synctest bubble and must not touch
// anything of one. A panic in it is logged, together with the report.
func WithListener(listener func(Report)) Option {
	return func(c *core) { c.listener = listener }
}

// WithLogger sets where reports are logged, at error level. The default, also
// for nil, is slog.Default() at the time of the report.
func WithLogger(logger *slog.Logger) Option {
	return func(c *core) { c.logger = logger }
}

// WithSamplingInterval has one resource in n tracked, below Paranoid; 1 tracks
// them all. The range is 1 to 1<<30, and a value outside means its nearest end.
// The default comes from the environment and is 128 otherwise.
func WithSamplingInterval(n int) Option {
	return func(c *core) { c.samplingInterval = min(max(n, 1), maxSamplingInterval) }
}

// WithTargetRecords has about n access records kept for a resource: up to n all
// are, and past that older ones give way with growing probability. The range is
// 1 to 1024, and a value outside means its nearest end. The default comes from
// the environment and is 4 otherwise.
func WithTargetRecords(n int) Option {
	return func(c *core) { c.targetRecords = min(max(n, 1), maxTargetRecords) }
}

// WithScope has every resource that the detector tracks counted in scope,
// sampled or not and whatever the level.
func WithScope(scope *Scope) Option {
	return func(c *core) { c.scope = scope }
}
