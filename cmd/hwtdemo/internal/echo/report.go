package echo

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/lateness"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/text"
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

// fillReport completes the report. cpu is the usage at the beginning.
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

// Err returns an error that names the faults of the server, if any. An interrupt is
// not a fault.
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
	t := &text.Builder{}
	t.Linef("A server closed connections that were silent for %s; %g %% kept talking.", text.Value(r.IdleAfter), r.Talkers)
	if r.Interrupted {
		t.Linef("Interrupted after %s.", cli.Duration(r.Elapsed))
	}
	t.Linef("\nConnections")
	t.Row("opened", cli.Count(r.Opened), "")
	t.Row("fell silent", cli.Count(r.Silent), "")
	t.Row("reaped", cli.Count(r.Reaped), r.reapedNote())
	t.Row("early", cli.Count(r.Early), "closed too soon; must be 0")
	t.Row("left", cli.Count(r.Left), r.leftNote())
	t.Row("messages", cli.Count(r.Messages), "echoed: a read and a write each")
	t.Linef("\nTimer: %s", r.Engine)
	t.Row("CPU time", cli.Duration(r.CPU), fmt.Sprintf("in %s, with the clients", cli.Duration(r.Elapsed)))
	r.writeLateness(t)
	return t.String()
}

func (r *Report) reapedNote() string {
	if r.ReapedTalkers == 0 {
		return ""
	}
	return fmt.Sprintf("%s of them talked, but too slowly", cli.Count(r.ReapedTalkers))
}

func (r *Report) leftNote() string {
	if r.Interrupted {
		return "silent, or about to be"
	}
	return "silent and still open; must be 0"
}

func (r *Report) writeLateness(t *text.Builder) {
	l := r.Lateness
	if l.Count == 0 {
		return
	}
	t.Linef("\nLateness of the %s closes, %s after the last byte", cli.Count(l.Count), text.Value(r.IdleAfter))
	t.Linef("  p50 %s   p99 %s   max %s", cli.Duration(l.P50), cli.Duration(l.P99), cli.Duration(l.Max))
	t.WriteString(l.Histogram())
}
