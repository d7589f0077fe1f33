package backend

import "strings"

// Scope is a part of the rows: rows with a prefix of the key and a group, each of which may be "" for
// all. The zero Scope has all rows.
type Scope struct{ Prefix, Group string }

// Pause keeps the rows of a scope from being leased, claimed, and adopted.
type Pause struct {
	Scope
	Reason, By string
	Since      int64 // time of the call of Pause
}

// Has reports whether a row is in the scope.
func (s Scope) Has(r *Row) bool {
	return strings.HasPrefix(r.Key, s.Prefix) && (s.Group == "" || s.Group == r.Group)
}

// Covers reports whether all rows of a lane are in the scope.
func (s Scope) Covers(l *Lane) bool {
	return strings.HasPrefix(l.Kind, s.Prefix) && (s.Group == "" || l.Group != nil && s.Group == *l.Group)
}
