// Package enginetest helps to test and measure engines: fake time, a buffer for
// logs, and benchmarks that compare an engine with Go's own timers or another rival.
//
// A comparison runs both sides in alternating rounds, and reports the medians of the
// process's CPU time and their ratio. One iteration is a whole comparison:
//
//	go test -run '^$' -bench Versus -benchtime 1x ./hashedwheel
package enginetest
