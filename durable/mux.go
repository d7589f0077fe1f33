package durable

import (
	"fmt"
	"strings"
)

// Mux calls the handler of an entry's kind, in the shape of [net/http.ServeMux]. The kind of an entry is the
// part of its key before the first slash. The zero value has no kinds. A Mux must not change
// after it was passed to [Store.WorkMux].
//
// A worker leases only entries of the kinds that its Mux handles. Entries of other kinds wait for a worker
// that handles them: during a deployment, the new version's kinds wait for the new version. They cost the worker
// nothing, except in a SQLite store without an index of kinds (see [Store.WorkMux]): every few seconds, the worker
// passes over those that are due, up to 4,999 of them.
type Mux struct {
	patterns []string
	handlers []Handler
	options  []*WorkOptions
}

// Handle sets the handler for a kind, and its options: nil is the default. The pattern "mail/" is
// the kind of the keys that begin with "mail/". The pattern "/" is the kind of all other keys,
// also of keys without a slash. WorkMux returns the error of an invalid argument.
//
// Each kind has its own queue, goroutines, and MaxHeld: a kind with a backlog, or with handlers that
// hang, delays no other kind. With the pattern "/", the worker reads the entries of all kinds
// together, and MaxHeld limits all kinds by the sum of theirs.
func (m *Mux) Handle(pattern string, handler Handler, options *WorkOptions) {
	m.patterns = append(m.patterns, pattern)
	m.handlers = append(m.handlers, handler)
	m.options = append(m.options, options)
}

// complete returns the kinds of m.
func (m *Mux) complete(t *kindTable) (ks []*kind, err error) {
	if m == nil || len(m.patterns) == 0 {
		return nil, invalid("a Mux without a pattern (expected: 1 or more)")
	}
	seen := make(map[string]bool)
	for i, pattern := range m.patterns {
		o, err := m.options[i].complete()
		switch {
		case pattern == "" || len(pattern) > maxKeySize || strings.Index(pattern, "/") != len(pattern)-1:
			return nil, invalid(`pattern %.64q of %d bytes (expected: 1 to %d, with one slash, at the end)`, pattern, len(pattern), maxKeySize)
		case seen[pattern]:
			return nil, invalid("pattern %.64q twice (expected: once)", pattern)
		case m.handlers[i] == nil:
			return nil, invalid("handler nil of pattern %.64q (expected: a function)", pattern)
		case err != nil:
			return nil, fmt.Errorf("pattern %.64q: %w", pattern, err)
		}
		seen[pattern] = true
		name := pattern
		if name == "/" {
			name = ""
		}
		ks = append(ks, &kind{pattern: pattern, name: name, index: i, options: o, counts: t.of(pattern)})
	}
	return ks, nil
}
