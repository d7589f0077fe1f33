package clock

// Option is a setting of New.
type Option func(*config)

type config struct {
	onError func(error)
	inline  bool
}

func newConfig(options []Option) config {
	var c config
	for _, option := range options {
		if option != nil {
			option(&c)
		}
	}
	return c
}

// WithErrorHandler calls f with a *hwt.PanicError for a function of AfterFunc or
// ScheduleFunc, or a Schedule, that panics, and with the timer's refusals:
// hwt.ErrStopped or hwt.ErrTooManyPending, wrapped, each time that one of Go's
// own timers had to stand in for a timeout. A function that ends its goroutine is
// reported as hwt.ErrGoexit.
//
// f may be called from several goroutines at once, and should not block: it holds
// up ScheduleFunc if the schedule panics there, and with WithFuncsOnTimer the timer.
// The default, and the meaning of nil, is to log failures, and the first refusal.
func WithErrorHandler(f func(error)) Option {
	return func(c *config) { c.onError = f }
}

// WithFuncsOnTimer makes the functions of AfterFunc run where the timer runs its
// tasks: on its worker, or on its executor if it has one. That saves a goroutine
// each, and suits functions that are short and never block. The default is a
// goroutine for each, as package time has it.
func WithFuncsOnTimer() Option {
	return func(c *config) { c.inline = true }
}
