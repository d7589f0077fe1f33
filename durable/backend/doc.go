// Package backend is the contract between package durable and the database that
// keeps its entries.
//
// This package is experimental: the interface may gain methods in any release.
// Programs use package durable with durable/sqlite or durable/postgres and need
// nothing from here.
//
// # Rows
//
// A row is one version of an entry. A key has at most one row in its main slot. Set, Create,
// Move, and Cancel address that row. A row leaves the main slot, without leaving the table, in
// three cases: a Set replaces a claimed row, a Set replaces the last occurrence of a series after its
// first claim, or a claimed recurring row hands its slot to its next occurrence. Such a row is detached.
// A detached row fires, is retried, and is acknowledged as any other.
//
// The table's primary key is (key, slot), where slot is 0 in the main slot and the row's own
// generation otherwise. A [Ref] names a row in either place.
//
// # Rules
//
//	R1. Every transition is atomic, and the row decides who wins: a row leaves the
//	    pending state by one claim, one cancel, one move, or one replacement.
//	R2. A generation is larger than the generations of all earlier versions of its
//	    key. It comes from a counter of the database, never from a clock.
//	R3. A claimed row is never overwritten, cancelled, or moved. Only the outcome of
//	    its firing, or the adoption by another worker, changes it.
//	R4. A worker's lease ends on the database's clock. A worker cannot renew a lease that has
//	    ended, and can then neither claim nor lease; other workers adopt its rows.
//	R5. A method that returns nil has stored its effect as durably as the backend's
//	    options promise. On any other error, the effect is unknown to the caller, but
//	    it takes place at most once: a backend never repeats a call blindly.
//	R6. A read verifies the checksum of each row and returns [ErrDamaged] for a
//	    mismatch. It never returns a damaged row.
//	R7. Keys and payloads are bytes. Keys are ordered bytewise.
package backend
