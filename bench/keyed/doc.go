// Package keyed compares the keyed wheel and the expiring cache with those of
// go-zero.
//
// Every comparison puts both sides into one run, round by round in turn, and
// reports the medians of the whole process's CPU time and their ratio, ours to
// theirs. One iteration is a whole comparison:
//
//	go -C bench test -run '^$' -bench . -benchtime 1x ./keyed
package keyed
