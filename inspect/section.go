package inspect

import "context"

// Section is a part of the page that shows more than timers: figures of a store, a
// pool, or whatever else the program has. [NewSection] makes one of a function.
type Section interface {
	// Title returns the heading, always the same.
	Title() string

	// Read returns what there is to show now. It is called while somebody looks,
	// about every two seconds, and never by one handler while an earlier call runs.
	// It may wait for a network: meanwhile the rest of the page goes on. After three
	// seconds its context ends, and the page shows that there was no answer; so it
	// does for an error and a panic. Blocks returned with an error are shown as well.
	Read(ctx context.Context) ([]Block, error)
}

// NewSection returns a section with a title, whose Read calls read.
func NewSection(title string, read func(ctx context.Context) ([]Block, error)) Section {
	return section{title, read}
}

type section struct {
	title string
	read  func(ctx context.Context) ([]Block, error)
}

// Title implements Section.
func (s section) Title() string { return s.title }

// Read implements Section.
func (s section) Read(ctx context.Context) ([]Block, error) { return s.read(ctx) }

// Block is a part of a section: figures, bars and a table, in this order, each of which
// may be left out. No more than 100 rows of each are shown, and 20 blocks of a section.
//
// Values may be of any type. Numbers, a [time.Duration], a [time.Time] and a bool are
// shown as such, and nil as unknown. Whatever else is shown as by fmt.Sprint, no more
// than 500 characters of it. All text is escaped.
type Block struct {
	Title   string   // "" for none
	Figures []Figure // names with their values
	Bars    []Figure // the same with bars as long as the values, numbers or durations
	Table   Table
}

// Figure is a value with its name.
type Figure struct {
	Name  string
	Value any
	Bad   bool // show it as a fault
}

// Table is a table. Rows that are shorter than Columns end in empty cells; cells beyond
// Columns are left out.
type Table struct {
	Columns []string
	Rows    [][]any
}
