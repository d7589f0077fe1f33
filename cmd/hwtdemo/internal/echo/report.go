package echo

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/lateness"
	"github.com/hashedwheel/hwt/internal/cli"
)

// Report is the result of a demonstration. Its durations are nanoseconds in JSON.
type Report struct {
	Engine      string        `json:"engine"`
	Address     string        `json:"address"`
	IdleAfter   time.Duration `json:"idle_after_ns"`
	Connections int           `json:"connections"` // within the limit of open files
	Talkers     float64       `json:"talkers_percent"`
	Talk        time.Duration `json:"talk_ns"`
	Seed        uint64        `json:"seed"`
	Interrupted bool          `json:"interrupted"`

	Opened        int64         `json:"opened"`
	Silent        int64         `json:"silent"`         // clients that were to fall silent
	Reaped        int64         `json:"reaped"`         // connections that the server closed for being idle
	ReapedTalkers int64         `json:"reaped_talkers"` // of them, talkers that the machine delayed too long
	Early         int64         `json:"early"`          // of them, before the idle timeout: must be 0
	Left          int64         `json:"left"`           // silent connections still open at the end: must be 0
	Messages      int64         `json:"messages"`       // echoed
	CPU           time.Duration `json:"cpu_ns"`         // of the whole process, clients included
	Elapsed       time.Duration `json:"elapsed_ns"`

	Lateness lateness.Summary `json:"lateness"` // of the closes
}

// fillReport completes the report. cpu is the process's use at the beginning.
func (d *Demo) fillReport(cpu cli.CPU) {
	r, c := &d.report, d.config
	r.Address = d.server.Addr().String()
	r.IdleAfter, r.Connections, r.Talkers, r.Talk, r.Seed = c.IdleAfter, c.Connections, c.Talkers, c.Talk, c.Seed
	r.Opened, r.Silent, r.Messages = d.opened.Load(), d.silent.Load(), d.echoed.Load()
	r.Reaped, r.ReapedTalkers, r.Early = d.server.reaped.Load(), d.goneTalkers.Load(), d.early.Load()
	if now, known := cli.CPUNow(); known {
		r.CPU = now.Sub(cpu).Total()
	}
	r.Elapsed = d.end.Sub(d.start)
	r.Lateness = d.server.lateness.Summary()
	r.Early = max(r.Early, r.Lateness.Early) // by the clocks of the clients and of the server
}

// Err returns an error that names the faults of the server, if there are any. An
// interrupt is none.
func (r *Report) Err() error {
	var faults []error
	if r.Early != 0 {
		faults = append(faults, fmt.Errorf("%d connections were closed early", r.Early))
	}
	if r.Left != 0 && !r.Interrupted {
		faults = append(faults, fmt.Errorf("%d silent connections are left", r.Left))
	}
	return errors.Join(faults...)
}

// Text returns the report for people.
func (r *Report) Text() string {
	t := &text{}
	t.linef("A server at %s closed connections that were silent for %v; %g %% of the clients kept talking.",
		r.Address, r.IdleAfter, r.Talkers)
	if r.Interrupted {
		t.linef("It was interrupted after %s.", cli.Duration(r.Elapsed))
	}
	t.linef("\nConnections")
	t.row("opened", r.Opened, "")
	t.row("fell silent", r.Silent, "")
	t.row("reaped", r.Reaped, r.reapedNote())
	t.row("early", r.Early, "closed before the idle timeout; must be 0")
	t.row("left", r.Left, r.leftNote())
	t.row("messages", r.Messages, "echoed; each is a read and a write")
	t.linef("\nTimer: %s", r.Engine)
	t.linef("  %-12s %12s   in %s, clients included", "CPU time", cli.Duration(r.CPU), cli.Duration(r.Elapsed))
	r.writeLateness(t)
	return t.String()
}

func (r *Report) reapedNote() string {
	if r.ReapedTalkers == 0 {
		return ""
	}
	return fmt.Sprintf("%s of them kept talking, but too slowly on this machine", cli.Count(r.ReapedTalkers))
}

func (r *Report) leftNote() string {
	if r.Interrupted {
		return "silent, or about to be, when it was interrupted"
	}
	return "silent and still open; must be 0"
}

func (r *Report) writeLateness(t *text) {
	l := r.Lateness
	t.linef("\nLateness of the %s closes: from %v after the last byte to the end of the read",
		cli.Count(l.Count), r.IdleAfter)
	if l.Count == 0 {
		return
	}
	t.linef("  p50 %s   p99 %s   max %s", cli.Duration(l.P50), cli.Duration(l.P99), cli.Duration(l.Max))
	t.WriteString(l.Histogram("  "))
}

// text is a builder of lines.
type text struct{ strings.Builder }

func (t *text) linef(format string, args ...any) {
	t.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// row writes a name, a count and a note.
func (t *text) row(name string, n int64, note string) {
	t.linef("  %-12s %12s   %s", name, cli.Count(n), note)
}
