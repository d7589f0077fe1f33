package backend

import (
	"cmp"
	"slices"
)

// LeaseRequest asks for pending rows that are due soon.
type LeaseRequest struct {
	Worker    int64
	Until     int64    // rows due after Until are left out
	Schedules []string // rows with a Schedule outside this list are left out
	Unclaimed bool     // all rows stay pending until Claim
	Lanes     []Lane   // parts of the rows; no row is in two of them
}

// Lane is a part of the rows of a [LeaseRequest].
type Lane struct {
	Kind    string   // rows of the kind, see [KindOf], or "" for the rows of all kinds; see PrepareKinds
	Kinds   []string // rows of these kinds, in place of Kind, or nil; see Limits.Together
	Group   *string  // rows of the group, or nil for the rows of all groups
	Without []string // rows of these groups are left out
	After   Cursor   // rows up to and including After are left out
	Max     int      // rows per call
}

// Has reports whether a row is in the lane, before its Cursor or after.
func (l *Lane) Has(r *Row) bool {
	return (l.Kind == "" || l.Kind == KindOf(r.Key)) && (len(l.Kinds) == 0 || slices.Contains(l.Kinds, KindOf(r.Key))) &&
		(l.Group == nil || *l.Group == r.Group) && !slices.Contains(l.Without, r.Group)
}

// LookLimit bounds the rows that a call of Lease looks at, those of other groups included, for all lanes that
// leave groups out.
const LookLimit = 20_000

// TogetherLimit is LookLimit for a lane with Kinds: a look meets few rows of other kinds, or the kinds need lanes of
// their own.
const TogetherLimit = 5000

// Selects reports whether the lane leaves rows out because of their groups, or reads several kinds.
func (l *Lane) Selects() bool { return l.Group != nil || len(l.Without) > 0 || len(l.Kinds) > 0 }

// Looks returns the number of rows that a call of Lease looks at for a lane that selects rows.
func (r *LeaseRequest) Looks(l *Lane) int {
	if len(l.Kinds) > 0 {
		return TogetherLimit
	}
	return max(1, LookLimit/len(r.Lanes))
}

// Leased are the rows of a [Lane] that a call of Lease returns.
type Leased struct {
	Rows    []Row
	Reached Cursor // the call has looked at the rows up to and including Reached
	More    bool   // rows of the lane may follow Reached
	Apart   bool   // a lane per kind costs less than the lane with Kinds, after a call of PrepareKinds
}

// Leased returns the result of a call of Lease that has read rows of the lane, and has looked at rows up to and
// including end. more reports whether rows of the lane may follow end. If rows reach the limits of a call, the
// result ends with the last of them instead.
func (l *Lane) Leased(rows []Row, end Cursor, more bool) Leased {
	switch full := len(rows) >= l.Max || Payloads(rows) >= BatchBytes; {
	case len(rows) > 0 && (full || !l.Selects()):
		return Leased{Rows: rows, Reached: rows[len(rows)-1].Cursor(), More: full}
	case !l.Selects():
		return Leased{Rows: rows, Reached: l.After}
	}
	return Leased{rows, end, more, more && len(l.Kinds) > 0 && end != l.After}
}

// Cursor is a position in the order of due times: by due time, key, and slot.
type Cursor struct {
	Due  int64
	Key  string
	Slot uint64
}

// Cursor returns the position of r.
func (r *Row) Cursor() Cursor { return Cursor{r.Due, r.Key, r.Slot()} }

// Compare compares positions.
func (c Cursor) Compare(d Cursor) int {
	return cmp.Or(cmp.Compare(c.Due, d.Due), cmp.Compare(c.Key, d.Key), cmp.Compare(c.Slot, d.Slot))
}
