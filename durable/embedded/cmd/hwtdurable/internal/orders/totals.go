package orders

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
)

// Totals are the figures at the end of a run.
type Totals struct {
	Orders   int `json:"orders"`
	Placed   int `json:"placed"`
	Paid     int `json:"paid"`
	Released int `json:"released"`
	TooLate  int `json:"paid_too_late"` // payments that found the check claimed: released

	Early    int `json:"early"`    // firings before their due time
	Lost     int `json:"lost"`     // orders neither paid nor released
	Both     int `json:"both"`     // orders paid and released
	Repeated int `json:"repeated"` // firings beyond the first with an ID of their own
	SameID   int `json:"same_id"`  // firings that came again with the same ID, by which the shop knows them

	KilledWorkers int64 `json:"killed_workers"`
	KilledNodes   int64 `json:"killed_nodes"`

	P50       Duration `json:"lateness_p50"`
	P99       Duration `json:"lateness_p99"`
	Max       Duration `json:"lateness_max"`
	Histogram []Bin    `json:"histogram"`
}

// Duration is a time.Duration that JSON shows as text.
type Duration time.Duration

// String returns the duration to a hundredth of a millisecond.
func (d Duration) String() string { return time.Duration(d).Round(10 * time.Microsecond).String() }

// MarshalText returns the duration as time.Duration prints it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Bin counts the firings that were late by less than Below, and no less than the
// bin before. In the last one, Below is 0: no limit.
type Bin struct {
	Below Duration `json:"below,omitempty"`
	Count int      `json:"count"`
}

var bins = []time.Duration{time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond,
	50 * time.Millisecond, 200 * time.Millisecond, time.Second, 5 * time.Second, 10 * time.Second, 0}

// AddUp reports whether the totals add up.
func (b Totals) AddUp() bool {
	return b.Placed == b.Orders && b.Placed == b.Paid+b.Released && b.Early+b.Lost+b.Both+b.Repeated == 0
}

// computeTotals computes the totals from the journal and the ledger.
func computeTotals(p *plan, j *journal, entries []role.Entry) Totals {
	b := Totals{Orders: p.Orders}
	b.Placed, _ = j.counts()
	released := b.release(entries)
	for order := range b.Placed {
		word := j.about(order)
		isPaid := word == payDone || word == payBegun && !released[p.key(order)]
		switch {
		case isPaid && released[p.key(order)]:
			b.Both++
		case isPaid:
			b.Paid++
		case released[p.key(order)]:
			b.Released++
			if word != "" {
				b.TooLate++
			}
		default:
			b.Lost++
		}
	}
	return b
}

// release enters the firings, and returns the keys that were released.
func (b *Totals) release(entries []role.Entry) map[string]bool {
	ids := make(map[string]string, len(entries))
	released := make(map[string]bool, len(entries))
	late := make([]time.Duration, 0, len(entries))
	for _, e := range entries {
		if e.At.Before(e.Due) {
			b.Early++
		}
		switch id, again := ids[e.Key]; {
		case !again:
			ids[e.Key] = e.ID
			late = append(late, e.At.Sub(e.Due))
		case id == e.ID:
			b.SameID++
		default:
			b.Repeated++
		}
		released[e.Key] = true
	}
	b.lateness(late)
	return released
}

func (b *Totals) lateness(late []time.Duration) {
	slices.Sort(late)
	if n := len(late); n > 0 {
		b.P50, b.P99, b.Max = Duration(late[n/2]), Duration(late[n*99/100]), Duration(late[n-1])
	}
	i := 0
	for _, below := range bins {
		n := 0
		for ; i < len(late) && (below == 0 || late[i] < below); i++ {
			n++
		}
		b.Histogram = append(b.Histogram, Bin{Duration(below), n})
	}
}

// Print writes the totals for people to read.
func (b Totals) Print(w io.Writer) {
	fmt.Fprintf(w, "\nplaced %d = paid %d + released %d\n", b.Placed, b.Paid, b.Released)
	fmt.Fprintf(w, "early %d, lost %d, paid and released %d, repeated %d\n", b.Early, b.Lost, b.Both, b.Repeated)
	fmt.Fprintf(w, "killed: %d workers, %d nodes\n", b.KilledWorkers, b.KilledNodes)
	fmt.Fprintf(w, "payments that came too late: %d; firings that came again after a kill, known by their ID: %d\n", b.TooLate, b.SameID)
	fmt.Fprintf(w, "late, all kills included: p50 %v, p99 %v, max %v\n", b.P50, b.P99, b.Max)
	most := 1
	for _, bin := range b.Histogram {
		most = max(most, bin.Count)
	}
	for i, bin := range b.Histogram {
		label := "more"
		if bin.Below != 0 {
			label = "< " + time.Duration(bin.Below).String()
		}
		if i == 0 || bin.Count > 0 {
			fmt.Fprintf(w, "  %8s %7d %s\n", label, bin.Count, strings.Repeat("#", (40*bin.Count+most-1)/most))
		}
	}
	if b.AddUp() {
		fmt.Fprintln(w, "The totals add up.")
	} else {
		fmt.Fprintln(w, "THE TOTALS DO NOT ADD UP.")
	}
}
