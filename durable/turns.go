package durable

import "iter"

// turns holds rows that wait, and gives them out by group in turn, W5: one row of a group, then one
// row of the next group. This is deficit round robin with the cost 1 for each row. The rows of a
// group leave in the order in which they came. Rows without a group are a group, too. The owner of a
// turns guards it.
type turns struct {
	last  *line            // the line before the next one in a ring of the lines with rows, or nil
	plain line             // rows without a group
	named map[string]*line // lines with rows of the other groups, by group
	n     int              // rows
}

// line has the rows of a group.
type line struct {
	rows []*flight
	next *line
}

func (t *turns) put(h *flight) {
	l := &t.plain
	if h.row.Group != "" {
		l = t.of(h.row.Group)
	}
	t.n++
	if l.rows = append(l.rows, h); len(l.rows) > 1 {
		return
	}
	if t.last == nil {
		t.last = l
	}
	l.next, t.last.next = t.last.next, l
	t.last = l
}

// of returns the line of a group with a name.
func (t *turns) of(group string) *line {
	l := t.named[group]
	if l == nil {
		l = &line{}
		if t.named == nil {
			t.named = make(map[string]*line)
		}
		t.named[group] = l
	}
	return l
}

// take takes the next row. There must be one.
func (t *turns) take() *flight {
	l := t.last.next
	h := l.rows[0]
	l.rows[0] = nil
	l.rows = l.rows[1:] // put copies the rest once the array is used up
	t.n--
	if len(l.rows) > 0 {
		t.last = l
	} else {
		t.end(l, h.row.Group)
	}
	return h
}

// end takes the next line, which has no row left, out of the ring.
func (t *turns) end(l *line, group string) {
	if t.last.next = l.next; l == t.last {
		t.last = nil
	}
	if group != "" {
		delete(t.named, group)
	}
}

// takeFirst takes the next rows, up to most.
func (t *turns) takeFirst(most int) []*flight {
	rows := make([]*flight, 0, min(most, t.n))
	for len(rows) < cap(rows) {
		rows = append(rows, t.take())
	}
	return rows
}

// all yields the rows.
func (t *turns) all() iter.Seq[*flight] {
	return func(yield func(*flight) bool) {
		for l, more := t.last, t.last != nil; more; more = l != t.last {
			for _, h := range l.rows {
				if !yield(h) {
					return
				}
			}
			l = l.next
		}
	}
}
