// Ported to Go from ResourceLeakDetector of the Netty Project, and changed.
// Copyright 2013 The Netty Project. Apache License 2.0; see NOTICE.

package leak

import (
	"math/rand/v2"
	"sync/atomic"
)

// Ground rules of a trail.
//
// Many goroutines may access a resource while a report reads the trail, and no access may wait. A trail
// is therefore a list of immutable records with an atomic head. The memory is bounded: beyond a target,
// a new record replaces the newest record, with a probability that grows with each record that is kept.
//
//  1. A record is written before it is published, and immutable after.
//  2. The list changes at its head only, by one compare-and-swap. A reader that
//     loaded the head sees a consistent list with its counts.
//  3. The newest record is never discarded. A new record may replace the record
//     before it.

// trail is the list of the access records of one resource, newest first. The zero
// value is empty.
type trail struct {
	newest atomic.Pointer[record] // Atomic: written by add and clear, read by reports.
}

// record is one access. All fields are immutable once the record is in a trail.
type record struct {
	older     *record
	kept      int       // number of records in the list from this record on
	discarded int       // number of records discarded so far
	hint      string    // may be empty
	stack     []uintptr // nil below LevelAdvanced
}

// add puts r in front. Past target records, r replaces the newest record with
// probability 1 - 1/2^excess, as in Netty's record back-off.
func (tr *trail) add(r *record, target int) {
	for { // Ends: a failed swap means that another record was added.
		newest := tr.newest.Load()
		r.follow(newest, replaces(newest.count(), target, rand.Uint32()))
		if tr.newest.CompareAndSwap(newest, r) { // Publishes r: rule 1.
			return
		}
	}
}

// follow makes r the successor of newest, or the replacement of newest.
func (r *record) follow(newest *record, replace bool) {
	r.older, r.discarded = newest, 0
	if newest != nil {
		r.discarded = newest.discarded
		if replace {
			r.older = newest.older
			r.discarded++
		}
	}
	r.kept = r.older.count() + 1
}

// count returns the number of records from r on. r may be nil.
func (r *record) count() int {
	if r == nil {
		return 0
	}
	return r.kept
}

// replaces decides, by the bits of random, whether the next record replaces the
// newest of kept records.
func replaces(kept, target int, random uint32) bool {
	if kept < target {
		return false
	}
	excess := min(kept-target+1, 30)
	return random&(1<<excess-1) != 0
}

// clear discards all records.
func (tr *trail) clear() { tr.newest.Store(nil) }
