// Package text lays out the reports of the commands for a terminal of 80 columns.
package text

import (
	"fmt"
	"strings"
)

// Builder collects lines. Its zero value is empty.
type Builder struct{ strings.Builder }

// Linef adds a line, without blanks at its end.
func (b *Builder) Linef(format string, args ...any) {
	b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// Row adds a line with a name, a number and a note.
func (b *Builder) Row(name, number, note string) { b.Linef("  %-12s %14s   %s", name, number, note) }

// Value formats a value of the command line. A duration has no trailing units of zero:
// 24h instead of 24h0m0s.
func Value(v any) string {
	s := fmt.Sprint(v)
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}
