package inspect

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/hashedwheel/hwt"
)

// textNext is the number of pending timeouts per timer in plain text.
const textNext = 10

// serveText writes all timers and sections as plain text.
func (h *handler) serveText(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	out := bufio.NewWriter(w)
	defer out.Flush()
	for _, t := range h.timers() {
		t.writeText(out)
	}
	for _, s := range readAll(r.Context(), h.hub.sections) {
		s.writeText(out)
	}
	fmt.Fprint(out, "See also timers.json, sections.json, and pending.json?timer=&n=&task=&within=\n")
}

// writeText writes the counts of t and its next timeouts.
func (t timer) writeText(w io.Writer) {
	fmt.Fprintln(w, cmp.Or(textOf(t.name), "(no name)"))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if e, ok := t.timer.(interface{ Stats() hwt.Stats }); ok {
		s := e.Stats()
		fmt.Fprintf(table, "  pending\t%d\n  accepted\t%d\n  expired\t%d\n  cancelled\t%d\n  reset\t≈%d\n", s.Pending, s.Accepted, s.Expired, s.Cancelled, s.Resets)
		fmt.Fprintf(table, "  lateness\tp50 %v, p99 %v\n", s.Lateness.Quantile(0.5), s.Lateness.Quantile(0.99))
		fmt.Fprintf(table, "  lag\t%v, max %v in the last minute\n", s.Lag, s.MaxLag)
		fmt.Fprintf(table, "  failed\t%d, panicked %d, slow %d, rejected %d\n", s.Failed, s.Panics, s.SlowTasks, s.Rejected+s.ExecutorRejected)
	}
	query{n: textNext, within: -1}.each(t, func(timeout hwt.Timeout, at time.Time) bool {
		e := entryOf(timeout, at)
		left := "never"
		if e.Deadline != nil {
			left = time.Duration(e.Left).Round(time.Millisecond).String()
		}
		fmt.Fprintf(table, "  due\t%s\t%s\n", left, textOf(e.Task))
		return true
	})
	table.Flush()
	fmt.Fprintln(w)
}
