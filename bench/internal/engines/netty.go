package engines

import "github.com/hashedwheel/hwt/bench/internal/spec"

var nettyKind = Kind{
	Name: "Netty", Package: "io.netty.util.HashedWheelTimer",
	Setting: "on a JVM; tick 1 ms, 8192 ticks (the defaults: 100 ms, 512)", Tasks: onWorker,
	Foreign: true, Verdict: true, Tick: fineTick,
}

// jdkKind is the heap of timers in Java's standard library.
var jdkKind = Kind{
	Name: "JDK", Package: "java.util.concurrent.ScheduledThreadPoolExecutor",
	Setting: "on a JVM; one thread, cancelled timeouts removed", Tasks: onWorker,
	Foreign: true, Verdict: true, Only: []string{spec.Cancel, spec.Heap, spec.Expire, spec.FullSpeed, spec.Correct},
}
