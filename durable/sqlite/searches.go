package sqlite

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// searches has, per list of kinds, the last search for rows to adopt that found only paused rows or rows
// of other kinds. No worker that is gone claims further rows: until another worker is gone or the pauses
// change, a second search would find the same. Each search reads the whole backlog before the last claimed row.
type searches struct {
	mu       sync.Mutex
	all      map[string]search               // Guarded by mu.
	rejected map[string]map[backend.Ref]bool // per list of kinds, rows that SQLite let no worker adopt, and that have others behind them. Guarded by mu.
}

// passesOver reports whether a search for kinds passes over a row, because SQLite has rejected its adoption.
func (ss *searches) passesOver(kinds []string, ref backend.Ref) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.rejected[strings.Join(kinds, "")][ref]
}

// passOver makes the next searches for kinds pass over the rejected ones of the found rows, until forget.
func (ss *searches) passOver(kinds []string, found []backend.Row, rejected map[int]error) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	list := strings.Join(kinds, "")
	if ss.rejected[list] == nil {
		ss.rejected[list] = make(map[backend.Ref]bool)
	}
	for i := range rejected {
		ss.rejected[list][found[i].Ref()] = true
	}
}

// forget makes the next searches for kinds pass over no row.
func (ss *searches) forget(kinds []string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.rejected, strings.Join(kinds, ""))
}

// search is a search for claimed rows of the workers that were gone at a time.
type search struct {
	gone    []int64
	stopped []backend.Pause
	at      time.Time
	damaged error // damage of rows
}

// searchEvery is the pause after which a search in vain is repeated: a Cancel may have deleted damaged rows, and the row of a
// worker without claimed rows is deleted after a search.
const searchEvery = time.Minute

// inVain returns the last search for kinds if the search s would find the same.
func (ss *searches) inVain(kinds []string, s *search) (last search, vain bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	last = ss.all[strings.Join(kinds, "")] // each ends in its only slash
	return last, slices.Equal(last.gone, s.gone) && slices.Equal(last.stopped, s.stopped) && s.at.Sub(last.at) < searchEvery
}

// note notes a search in vain.
func (ss *searches) note(kinds []string, s search) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.all[strings.Join(kinds, "")] = s
}
