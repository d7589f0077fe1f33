package cron

import "time"

// Option is a setting of [New].
type Option func(*Cron)

// WithLocation sets the time zone of expressions without a time zone.
func WithLocation(loc *time.Location) Option { return func(c *Cron) { c.location = loc } }

// WithSeconds makes expressions begin with a field for seconds.
func WithSeconds() Option {
	return WithParser(NewParser(Second | Minute | Hour | Dom | Month | Dow | Descriptor))
}

// WithParser sets the parser of AddFunc and AddJob.
func WithParser(p ScheduleParser) Option { return func(c *Cron) { c.parser = p } }

// WithChain sets the wrappers of all jobs.
func WithChain(wrappers ...JobWrapper) Option {
	return func(c *Cron) { c.chain = NewChain(wrappers...) }
}

// WithLogger sets the logger.
func WithLogger(logger Logger) Option { return func(c *Cron) { c.logger = logger } }
