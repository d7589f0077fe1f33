package inspect

import "context"

// Section is a part of the page that shows something other than timers, such as a store
// or a connection pool. [NewSection] creates one from a function.
//
// Section, [Block], [Figure], and [Table] are experimental: they may change in any version
// before v1.0.0.
type Section interface {
	// Title returns the heading. It is called once, by [Handler].
	Title() string

	// Read returns the current contents. A handler calls Read about every two seconds while
	// a page is open, and never concurrently. Read may wait for a network: the rest of the
	// page is not affected. The context ends after three seconds, and the page then reports
	// that the section did not answer. The page shows errors and panics, and also the
	// blocks that Read returns together with an error.
	Read(ctx context.Context) ([]Block, error)
}

// NewSection returns a section with the title. Its method Read calls read.
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

// Block is a part of a section: figures, bars, and a table, in this order, each optional.
// The page shows at most 100 rows of each, and at most 20 blocks per section.
//
// Values may have any type. The page formats numbers, bools, [time.Duration], and
// [time.Time], and shows nil as unknown. It shows the first 500 characters of all other
// values as formatted by fmt.Sprint. All text is escaped.
type Block struct {
	Title   string   // "" for no title
	Figures []Figure // named values
	Bars    []Figure // named numbers or durations, drawn as bars
	Table   Table
}

// Figure is a named value.
type Figure struct {
	Name  string
	Value any
	Bad   bool // highlight the value as a fault
}

// Table is a table. A row shorter than Columns is filled with empty cells; cells beyond
// Columns are left out.
type Table struct {
	Columns []string
	Rows    [][]any
}
