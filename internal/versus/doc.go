// Package versus compares an engine with Go's own timers or another rival. Both sides
// run in alternating rounds, and the result is the median of the process's CPU time
// per operation and the ratio of the medians. One iteration is a whole comparison:
//
//	go test -run '^$' -bench Versus -benchtime 1x ./hashedwheel
package versus
