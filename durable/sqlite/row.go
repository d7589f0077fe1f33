package sqlite

import (
	"cmp"

	"github.com/hashedwheel/hwt/durable/backend"
)

// columns are those that scan reads.
const columns = "key, slot, gen, due, holder, sum, not_after, attempt, every, schedule, origin, nonce, payload"

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
	if r.Holder != 0 {
		r.State = backend.Claimed
	}
	return r, r.Verify(uint32(s.ColumnInt64(5)))
}

// bind binds the columns of r, in the order of columns.
func bind(q *query, r *backend.Row) *query {
	q.blob(r.Key).int(int64(r.Slot())).int(int64(r.Generation)).int(r.Due)
	if r.State == backend.Claimed {
		q.int(r.Holder)
	} else {
		q.int(0)
	}
	return bindRest(q, r)
}

// bindRest binds the columns from sum on, which dead letters have, too.
func bindRest(q *query, r *backend.Row) *query {
	origin := r.Origin
	if origin == r.Generation {
		origin = 0 // takes no space
	}
	return q.int(int64(r.Checksum())).int(r.NotAfter).int(int64(r.Attempt)).
		blob(r.Every).blob(r.Schedule).int(int64(origin)).int(int64(r.Nonce)).bytes(r.Payload)
}

// deadColumns are those that scanDead reads: in the order of columns, with whether the row
// was detached for slot and 0 for holder.
const deadColumns = "key, detached, gen, due, 0, sum, not_after, attempt, every, schedule, origin, nonce, payload, error, given_up"

func scanDead(q *query) (d backend.Dead, err error) {
	d.Row, err = scan(q)
	d.Error = string(q.s.ColumnRawBlob(13))
	d.GivenUp = q.s.ColumnInt64(14)
	return d, err
}
