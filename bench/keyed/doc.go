// Package keyed compares the keyed wheel and the expiring cache with those of
// go-zero. Command caches, beside it, compares the cache with otter and golang-lru.
//
// Every comparison puts all sides into one run, round by round in turn, and
// reports medians and their ratio, ours to theirs: of the whole process's CPU
// time, or for caches under contention of the wall clock. One iteration is a
// whole comparison:
//
//	go -C bench test -run '^$' -bench . -benchtime 1x ./keyed
package keyed
