package inspect

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

// maxN is the upper bound of n in a query.
const maxN = 10_000

// query selects pending timeouts.
type query struct {
	timer  string        // "" for all
	n      int           // the number of earliest timeouts; 0 for all, unordered
	task   string        // part of the task's name
	within time.Duration // negative for no bound
}

// parseQuery reads the values of a request. The error names the bad value and its range.
func parseQuery(values url.Values) (q query, err error) {
	q = query{timer: values.Get("timer"), task: values.Get("task"), within: -1}
	for name := range values {
		if !slices.Contains([]string{"timer", "n", "task", "within"}, name) {
			return q, fmt.Errorf("%q: unknown (expected: timer, n, task or within)", name)
		}
	}
	if v := values.Get("n"); v != "" {
		if q.n, err = strconv.Atoi(v); err != nil || q.n < 1 || q.n > maxN {
			return q, fmt.Errorf("n: %q (expected: 1 to %d)", v, maxN)
		}
	}
	if v := values.Get("within"); v != "" {
		if q.within, err = time.ParseDuration(v); err != nil || q.within < 0 {
			return q, fmt.Errorf("within: %q (expected: a duration of 0 or more, such as 1m30s)", v)
		}
	}
	return q, nil
}

// servePending writes the pending timeouts that match the query. With n, timeouts are in
// the order of deadlines.
func (h *handler) servePending(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuery(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	timers := h.timers()
	if q.timer != "" {
		timers = slices.DeleteFunc(timers, func(t timer) bool { return t.name != q.timer })
		if len(timers) == 0 {
			http.Error(w, fmt.Sprintf("timer: %q (expected: a name in timers.json)", q.timer), http.StatusBadRequest)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodHead {
		return
	}
	s := &stream{Writer: bufio.NewWriterSize(w, 32<<10)}
	s.text(`{"timers":[`)
	for i, t := range timers {
		s.separate(i)
		s.pending(t, q)
	}
	s.text("\n]}\n")
	_ = s.Flush()
}

// stream writes JSON in pieces. It discards everything after an error.
type stream struct {
	*bufio.Writer
	err error
}

func (s *stream) text(text string) {
	if s.err == nil {
		_, s.err = s.WriteString(text)
	}
}

// separate writes the separator before element i of an array.
func (s *stream) separate(i int) {
	if i > 0 {
		s.text(",")
	}
	s.text("\n")
}

func (s *stream) value(v any) {
	text, err := json.Marshal(v)
	if s.err == nil {
		s.err = err
	}
	s.text(string(text))
}

// pending writes the pending timeouts of t.
func (s *stream) pending(t timer, q query) {
	s.text(`{"name":`)
	s.value(t.name)
	s.text(`,"pending":[`)
	n := 0
	q.each(t, func(timeout hwt.Timeout, at time.Time) bool {
		s.separate(n)
		s.value(entryOf(timeout, at))
		n++
		return s.err == nil
	})
	s.text("\n]}")
}

// each calls f with the timeouts of t that match q until f returns false.
func (q query) each(t timer, f func(timeout hwt.Timeout, at time.Time) bool) {
	if q.n == 0 {
		q.find(t, f)
		return
	}
	first := earliest{n: q.n}
	q.find(t, func(timeout hwt.Timeout, at time.Time) bool {
		first.add(at, timeout)
		return true
	})
	for _, d := range first.sorted() {
		if !f(d.timeout, d.at) {
			return
		}
	}
}

// find calls f with the matching timeouts in no order.
func (q query) find(t timer, f func(timeout hwt.Timeout, at time.Time) bool) {
	all := t.all()
	if all == nil {
		return
	}
	until := time.Now().Add(q.within)
	for timeout := range all {
		at := timeout.Deadline()
		if q.within >= 0 && (at.IsZero() || at.After(until)) {
			continue
		}
		if q.task != "" && !strings.Contains(enginekit.TaskName(timeout.Task()), q.task) {
			continue
		}
		if !f(timeout, at) {
			return
		}
	}
}
