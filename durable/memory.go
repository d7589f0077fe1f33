package durable

import (
	"cmp"
	"slices"
)

// memory counts the rows of the kinds that share a position in the order of due times, and shares the
// room for them out among their groups. It knows groups from the first row with a group on. The mu of flights guards it.
type memory struct {
	most   int             // rows. Immutable.
	least  int             // rows of a group that keep the handlers busy. Immutable.
	held   int             // rows in the table
	apart  int             // rows of these that count for no group
	coming int             // rows that calls under way may return
	groups map[string]int  // held rows by group, or nil
	passed map[string]bool // groups that the feed passes over, or nil
}

// maxPassed is the number of groups that a feed passes over at the same time. The rows of further groups are taken in
// the order of due times, whatever their groups hold.
const maxPassed = 32

// countApart adds to the number of held rows, for no group.
func (m *memory) countApart(by int) {
	m.held += by
	m.apart += by
}

// count adds to the number of held rows. It reports whether a group that the feed passes over has room for
// half of its share since this row.
func (m *memory) count(group string, by int) (refill bool) {
	if group != "" && m.groups == nil {
		m.groups, m.passed = map[string]int{"": m.held - m.apart}, make(map[string]bool)
	}
	m.held += by
	if m.groups == nil {
		return false
	}
	n := m.groups[group] + by
	if m.groups[group] = n; n == 0 {
		delete(m.groups, group)
	}
	return by < 0 && m.passed[group] && n == m.share()/2
}

// share is the number of rows that a group may hold: an eighth of all, or more if the handlers need more, and less
// if the shares of the groups that are passed over would leave no room for two further groups.
func (m *memory) share() int {
	return max(1, min(m.most/(len(m.passed)+2), max(m.most/8, m.least)))
}

// sated reports whether a group holds its share.
func (m *memory) sated(group string) bool { return m.groups != nil && m.groups[group] >= m.share() }

// overdrawn reports whether a group holds a quarter more than its share.
func (m *memory) overdrawn(group string) bool {
	return m.groups != nil && m.groups[group] >= m.share()+max(1, m.share()/4)
}

// room returns the number of further rows that the memory may hold.
func (m *memory) room() int { return m.most - m.held - m.coming }

// roomFor returns the number of rows that a look at the database may return, for one group, or for all groups if
// group is nil. With groups, an eighth is left for rows that this process stores. The first look, and each look with
// groups, fills one share at most: a group is passed over after the look.
func (m *memory) roomFor(group *string) int {
	switch {
	case m.groups == nil && m.held > 0:
		return m.room()
	case m.groups == nil:
		return min(m.room(), m.share())
	case group == nil:
		return min(m.room()-m.most/8, m.share())
	}
	return min(m.room()-m.most/8, m.share()-m.groups[*group])
}

// pass makes the feed pass over the groups that have reached their shares, the largest first, and returns
// these groups.
func (m *memory) pass() (groups []string) {
	if m.groups == nil || m.held < m.share() {
		return nil
	}
	for group := range m.groups {
		if m.sated(group) && !m.passed[group] {
			groups = append(groups, group)
		}
	}
	slices.SortFunc(groups, func(a, b string) int { return cmp.Or(cmp.Compare(m.groups[b], m.groups[a]), cmp.Compare(a, b)) })
	groups = groups[:min(len(groups), maxPassed-len(m.passed))]
	for _, group := range groups {
		m.passed[group] = true
	}
	return groups
}
