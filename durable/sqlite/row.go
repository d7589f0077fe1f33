package sqlite

import (
	"cmp"
	"math"

	"github.com/hashedwheel/hwt/durable/backend"
)

// columns are the columns that scan reads, and stored those that bind writes. Most rows have no
// value in rare: scan reads these columns, and bindRare writes them, only of rows that have one.
const (
	columns = "key, slot, gen, due, holder, sum, not_after, attempt, every, schedule, origin, nonce, " + anyPayload + anyRare
	stored  = "key, slot, gen, due, holder, sum, not_after, attempt, every, schedule, origin, nonce, payload"
	rare    = ", grp, headers, crashes, last"
	anyRare = ", coalesce(grp, headers, crashes, last) IS NOT NULL" + rare
)

// largePayload is the size from which on a payload is stored in hwt_payloads: a row of a
// WITHOUT ROWID table takes a further page beyond a quarter of a page.
const largePayload = 256

// anyPayload reads a payload wherever it is.
const anyPayload = "CASE typeof(t.payload) WHEN 'integer' THEN (SELECT p.payload FROM hwt_payloads p WHERE p.id = t.payload) ELSE t.payload END"

// scan returns the current row of a result and verifies it.
func scan(q *query) (r backend.Row, err error) {
	s := q.s
	r = backend.Row{
		Key:        string(s.ColumnRawBlob(0)),
		Detached:   s.ColumnInt64(1) != 0,
		Generation: uint64(s.ColumnInt64(2)),
		Due:        s.ColumnInt64(3),
		Holder:     s.ColumnInt64(4),
		NotAfter:   s.ColumnInt64(6),
		Attempt:    int(s.ColumnInt64(7)),
		Every:      string(s.ColumnRawBlob(8)),
		Schedule:   string(s.ColumnRawBlob(9)),
		Nonce:      uint64(s.ColumnInt64(11)),
		Payload:    s.ColumnBlob(12, nil),
	}
	r.Origin = cmp.Or(uint64(s.ColumnInt64(10)), r.Generation)
	if s.ColumnInt64(13) != 0 {
		r.Group, r.Headers = string(s.ColumnRawBlob(14)), string(s.ColumnRawBlob(15))
		r.Last = string(s.ColumnRawBlob(17))
		r.Crashes, r.Tried = backend.CrashesOf(s.ColumnInt64(16))
	}
	sum := s.ColumnInt64(5)
	if sum>>32 != 0 { // also if the holder is damaged
		r.State = backend.Claimed
	}
	return r, r.Verify(uint64(s.ColumnInt64(1)), uint32(sum)^uint32(sum>>32^mark(r.Holder)))
}

// The column sum has the checksum of the row in its lower half, and the mark of the holder in its
// upper half: a claim changes the holder without reading the row.
const (
	holderMark = "((holder * 16777619) & 2147483647)"
	heldWell   = "(sum >> 32) = " + holderMark                                 // false for rows with a damaged holder
	marked     = "(sum & 4294967295) | (((?3 * 16777619) & 2147483647) << 32)" // the sum after a claim by the holder ?3
)

// mark returns the mark of a holder, 0 for a pending row.
func mark(holder int64) int64 { return (holder * 16777619) & math.MaxInt32 }

// bind binds the columns of r, in the order of stored. large is the id of a large payload.
func bind(q *query, r *backend.Row, large int64) *query {
	q.blob(r.Key).int(int64(r.Slot())).int(int64(r.Generation)).int(r.Due)
	holder := int64(0)
	if r.State == backend.Claimed {
		holder = r.Holder
	}
	return bindRest(q.int(holder), r, holder, large)
}

// bindRest binds the columns from sum on. Dead letters have these columns, too.
func bindRest(q *query, r *backend.Row, holder, large int64) *query {
	origin := r.Origin
	if origin == r.Generation {
		origin = 0 // takes no space
	}
	q.int(mark(holder)<<32 | int64(r.Checksum())).int(r.NotAfter).int(int64(r.Attempt)).
		blob(r.Every).blob(r.Schedule).int(int64(origin)).int(int64(r.Nonce))
	if large != 0 {
		return q.int(large)
	}
	return q.bytes(r.Payload)
}

// hasRare reports whether r has a value in one of the columns rare.
func hasRare(r *backend.Row) bool {
	return r.Group != "" || r.Headers != "" || r.Crashes != 0 || r.Last != ""
}

// bindRare binds the columns rare.
func bindRare(q *query, r *backend.Row) *query {
	if q.blob(r.Group).blob(r.Headers); r.Crashes == 0 {
		return q.bytes(nil).blob(r.Last)
	}
	return q.int(r.StoredCrashes()).blob(r.Last)
}

// deadColumns are those that scanDead reads: in the order of columns, with whether the row
// was detached for slot and 0 for holder.
const deadColumns = "key, detached, gen, due, 0, sum, not_after, attempt, every, schedule, origin, nonce, " + anyPayload + anyRare + ", error, given_up"

func scanDead(q *query) (d backend.Dead, err error) {
	d.Row, err = scan(q)
	d.Error = string(q.s.ColumnRawBlob(18))
	d.GivenUp = q.s.ColumnInt64(19)
	return d, err
}
