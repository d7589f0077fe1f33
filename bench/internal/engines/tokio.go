package engines

// tokioKind is the wheel below Rust's asynchronous servers. Its tick is fixed.
var tokioKind = Kind{
	Name: "tokio", Package: "tokio::time", Setting: "in Rust; tick 1 ms, which is fixed", Tasks: "a task each",
	Foreign: true, Resets: true, Tick: fineTick,
	Newer: "Newer releases of tokio have an experimental alternative timer.",
}
