package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
)

var (
	pause  = operation{name: "pause", scope: (*durable.Store).Pause}
	resume = operation{name: "resume", scope: func(s *durable.Store, ctx context.Context, p durable.Pause) error {
		return s.Resume(ctx, p.Scope)
	}}
	pauses = operation{name: "pauses", do: func(ctx context.Context, s *place.Store, _ []string, p *printer) error {
		all, err := s.Paused(ctx)
		for i := 0; i < len(all) && err == nil; i++ {
			err = p.pause(all[i])
		}
		return err
	}}
)

// pauseFlags are the flags of pause and resume.
type pauseFlags struct {
	durable.Pause
	all bool
}

func (f *pauseFlags) add(flags *flag.FlagSet) {
	flags.StringVar(&f.Group, "group", "", "only entries of this `group`")
	flags.BoolVar(&f.all, "all", false, "all entries, in place of PREFIX and --group")
	if flags.Name() == "pause" {
		flags.StringVar(&f.Reason, "reason", "", "a `text` for other operators")
		flags.StringVar(&f.By, "by", "", "the `name` of the operator")
	}
}

// choose returns the operation on the scope of the flags.
func (f *pauseFlags) choose(op operation, flags *flag.FlagSet, log io.Writer) (operation, error) {
	f.Prefix = flags.Arg(0)
	if f.all == (f.Scope != durable.Scope{}) {
		return op, wrongUsage(log, op.name, "PREFIX %q, --group %q, --all %t (expected: PREFIX or --group, or --all)", f.Prefix, f.Group, f.all)
	}
	return operation{name: op.name, do: func(ctx context.Context, s *place.Store, _ []string, _ *printer) error {
		return op.scope(s.Store, ctx, f.Pause)
	}}, nil
}

func (p *printer) pause(pause durable.Pause) error {
	if p.json {
		return p.encode(map[string]any{"prefix": pause.Prefix, "group": pause.Group, "reason": pause.Reason, "by": pause.By, "since": pause.Since})
	}
	_, err := fmt.Fprintf(p.out, "%s  prefix %q  group %q  by %s: %s\n",
		pause.Since.Format(time.RFC3339), pause.Prefix, pause.Group, strconv.Quote(pause.By), strconv.Quote(pause.Reason))
	return err
}
