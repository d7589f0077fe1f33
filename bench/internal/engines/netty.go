package engines

var nettyKind = Kind{
	Name: "Netty", Package: "io.netty.util.HashedWheelTimer", Setting: "on a JVM; tick 1 ms, 8192 ticks",
	Foreign: true, Verdict: true, Tick: fineTick,
}
