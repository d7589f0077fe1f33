package durable

import (
	"fmt"
	"strings"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Scope selects the entries of a store whose keys start with Prefix and that are in Group. "" stands for
// all keys and for all groups. The zero Scope is ErrInvalid: an empty variable must not select the whole
// store. All says that.
type Scope struct {
	Prefix string // up to 512 bytes
	Group  string // up to 128 bytes
	All    bool   // every entry; excludes Prefix and Group
}

// stored returns s as backends keep it.
func (s Scope) stored() (backend.Scope, error) {
	var err error
	switch conditions := s.Prefix != "" || s.Group != ""; {
	case !conditions && !s.All:
		err = invalid("Scope without a condition (expected: Prefix or Group, or All for every entry)")
	case conditions && s.All:
		err = invalid("Scope.All with a condition (expected: one or the other)")
	case len(s.Prefix) > maxKeySize:
		err = invalid("prefix %.32q of %d bytes (expected: up to %d)", s.Prefix, len(s.Prefix), maxKeySize)
	case len(s.Group) > maxGroupSize:
		err = invalid("group %.32q of %d bytes (expected: up to %d)", s.Group, len(s.Group), maxGroupSize)
	}
	return backend.Scope{Prefix: s.Prefix, Group: s.Group}, err
}

// scopeOf returns a scope that a backend keeps.
func scopeOf(s backend.Scope) Scope { return Scope{s.Prefix, s.Group, s == backend.Scope{}} }

// String returns such as `prefix "mail/" and group "acme"`, or "all entries".
func (s Scope) String() string {
	var conditions []string
	if s.Prefix != "" {
		conditions = append(conditions, fmt.Sprintf("prefix %.64q", s.Prefix))
	}
	if s.Group != "" {
		conditions = append(conditions, fmt.Sprintf("group %.64q", s.Group))
	}
	switch {
	case len(conditions) > 0:
		return strings.Join(conditions, " and ")
	case s.All:
		return "all entries"
	}
	return "no entries"
}

// noneOf is ErrNotFound for a missing pause or limit of a scope.
type noneOf string

// Error names the missing one.
func (n noneOf) Error() string { return "no " + string(n) + " of exactly this scope found" }

// Is makes the error ErrNotFound.
func (n noneOf) Is(target error) bool { return target == ErrNotFound }

// wrapScope adds an operation and its scope to an error. It returns nil for nil.
func wrapScope(operation string, s Scope, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("durable: %s of %v: %w", operation, s, err)
}
