package engines

import "github.com/hashedwheel/hwt/bench/internal/spec"

var nettyKind = Kind{
	Name: "Netty", Package: "io.netty.util.HashedWheelTimer",
	Setting: "on a JVM; tick 1 ms, 8192 ticks (the defaults: 100 ms, 512)", Tasks: onWorker,
	Foreign: true, Verdict: true, Tick: fineTick,
	Newer: "Netty 4.1.48 is of March 2020. Netty 4.2 has the same wheel, with newer queues and a notification of cancelled tasks.",
}

// jdkKind is the heap of timers in Java's standard library.
var jdkKind = Kind{
	Name: "JDK", Package: "java.util.concurrent.ScheduledThreadPoolExecutor",
	Setting: "on a JVM; one thread, cancelled timeouts removed", Tasks: onWorker,
	Newer:   "JDK 25 adds a scheduler of timeouts to ForkJoinPool, DelayScheduler, which was made for cancelled ones.",
	Foreign: true, Verdict: true, Only: []string{spec.Cancel, spec.Heap, spec.Expire, spec.FullSpeed},
}
