package enginekit

// The attributes of the engines' log records. Package hwt documents them.
const (
	AttrTimer     = "timer"     // the timer's name
	AttrTask      = "task"      // a task's TaskName
	AttrError     = "error"     // a task's error, or a *hwt.PanicError
	AttrStack     = "stack"     // the stack of a panic
	AttrHeld      = "held"      // the time for which a slow task has held the worker
	AttrThreshold = "threshold" // the time from which a task is slow
	AttrStarved   = "starved"   // how late the watchdog ran while a slow task held the worker
	AttrWaited    = "waited"    // the time that Stop waited
	AttrRunning   = "running"   // the number of tasks that still run
	AttrLive      = "live"      // the number of timers
	AttrAsked     = "asked"     // the requested tick
	AttrTick      = "tick"      // the tick used instead
)
