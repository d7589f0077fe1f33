package durable

import (
	"slices"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// position is a position of the fetcher in the order of due times.
type position struct {
	feed  *feed
	group *string        // of the rows, or nil for the rows of all groups that have no position
	mark  backend.Cursor // the watermark
	ended bool           // the last look found no further row
}

// feed is the way of the fetcher through the rows of a kind, or of all kinds, in the order of due times.
//
// A group that holds its share of the memory must not keep the rows of other groups in the database.
// The main position passes over the rows of such a group. The group gets a separate position, and
// continues from there when its share has room.
//
//	W6. A position of a group begins before the first row that main, or the sweep behind it, passes
//	    over. It ends when a look from there has found all due rows of the group: main has not
//	    read further than that look, and continues with all groups. Each due row is therefore in
//	    the table, or after the position for its group, or is found by a sweep.
type feed struct {
	kind   *kind // that of all other keys stands for the rows of all kinds, and nil for the rows of all kinds of a Mux
	main   *position
	passed []*position // of groups
	behind *position   // of a sweep from the beginning while main passes over groups, or nil
	sweep  bool        // wanted, once there is room for its rows
}

// together has the feeds of the kinds of a Mux while one feed reads the rows of all these kinds. A hundred looks cost more
// than one, and need an index with a place per kind. One feed suffices while no kind can keep another waiting.
type together struct {
	feeds   []*feed       // of the kinds
	apart   bool          // the rows of a kind must not wait for the rows of another any longer
	overdue int           // batches in succession, of any number of looks, that ended before the present
	failed  time.Time     // last call of PrepareKinds
	pause   time.Duration // until the next call
}

// lagging is the number of batches after which overdue rows are a backlog.
const lagging = 4

func newFeed(k *kind) *feed {
	d := &feed{kind: k}
	d.main = &position{feed: d}
	return d
}

// positions returns the positions of the next look.
func (d *feed) positions() []*position { return append([]*position{d.main}, d.passed...) }

// groups returns the groups that main passes over.
func (d *feed) groups() (names []string) {
	for _, p := range d.passed {
		names = append(names, *p.group)
	}
	return names
}

// pass makes main pass over a group, and gives the group a separate position (W6).
func (d *feed) pass(group string) {
	at := d.main.mark
	if d.behind != nil && d.behind.mark.Compare(at) < 0 {
		at = d.behind.mark
	}
	d.passed = append(d.passed, &position{feed: d, group: &group, mark: at})
}

// rejoin ends the position of a group.
func (d *feed) rejoin(p *position) {
	d.passed = slices.DeleteFunc(d.passed, func(other *position) bool { return other == p })
}

// restart makes the next look a sweep, which reads from the beginning. While main passes over groups, it
// would pass over all their rows again: main returns to recent instead, and the slower position
// behind reads from the beginning.
func (d *feed) restart(recent backend.Cursor) {
	d.sweep = false
	if len(d.passed) == 0 {
		d.main.mark, d.behind = backend.Cursor{}, nil
		return
	}
	d.reread(recent)
	if d.behind == nil {
		d.behind = &position{feed: d}
	}
}

// reread makes the positions return to recent while main passes over groups. Most rows that were stored or dropped since
// the last look are due later.
func (d *feed) reread(recent backend.Cursor) {
	for _, p := range d.positions() {
		if len(d.passed) > 0 && recent.Compare(p.mark) < 0 {
			p.mark = recent
		}
	}
}
