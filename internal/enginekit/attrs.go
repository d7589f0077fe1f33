package enginekit

// The attributes of the engines' log records. The documentation of package hwt lists
// them.
const (
	AttrTimer     = "timer"     // the timer's name
	AttrTask      = "task"      // the task: its type, or the function and where it is
	AttrError     = "error"     // what the task returned, or a *hwt.PanicError
	AttrStack     = "stack"     // the stack of a panic
	AttrHeld      = "held"      // for how long a slow task has held the worker
	AttrThreshold = "threshold" // the time from which a task is slow
	AttrStarved   = "starved"   // how late the watchdog ran while a slow task held the worker
	AttrWaited    = "waited"    // for how long Stop waited
	AttrRunning   = "running"   // how many tasks still run
	AttrLive      = "live"      // how many timers there are
	AttrAsked     = "asked"     // the tick asked for
	AttrTick      = "tick"      // the tick
)
