// Package embedded runs a NATS server with JetStream inside the process, for
// stores of package durable that need no server to install.
//
// [Open] opens a directory and the store in it. The server listens on no port
// unless Options.Listen or Options.Cluster asks for one. The store talks to it
// inside the process. A directory says what it is, in a file hwt.json: a
// standalone store, or a node of a cluster. Opening it as something else is
// refused, because the server would delete what it holds; so is opening it twice
// at a time.
//
// Written timers are on disk when a call returns, as far as the operating system
// goes: they survive the death of the process at once, and that of the machine
// after Options.SyncInterval, or at once with Options.SyncAlways, or with
// replicas on other machines.
package embedded
