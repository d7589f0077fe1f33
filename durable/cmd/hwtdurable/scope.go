package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
)

var (
	pause = operation{name: "pause", scope: func(s *durable.Store, ctx context.Context, f *scopeFlags) error {
		return s.Pause(ctx, f.Pause)
	}}
	resume = operation{name: "resume", scope: func(s *durable.Store, ctx context.Context, f *scopeFlags) error {
		return s.Resume(ctx, f.Scope)
	}}
	limit = operation{name: "limit", scope: func(s *durable.Store, ctx context.Context, f *scopeFlags) error {
		if f.none {
			return s.RemoveLimit(ctx, f.Scope)
		}
		return s.Limit(ctx, f.Scope, f.limit)
	}}
	limits = operation{name: "limits", do: func(ctx context.Context, s *place.Store, _ []string, p *printer) error {
		all, err := s.Limits(ctx)
		for i := 0; i < len(all); i++ {
			err = errors.Join(err, p.limit(all[i]))
		}
		return err
	}}
	pauses = operation{name: "pauses", do: func(ctx context.Context, s *place.Store, _ []string, p *printer) error {
		all, err := s.Paused(ctx)
		for i := 0; i < len(all) && err == nil; i++ {
			err = p.pause(all[i])
		}
		return err
	}}
)

// scopeFlags are the flags of pause, resume, and limit.
type scopeFlags struct {
	durable.Pause
	limit durable.Limit
	none  bool
}

func (f *scopeFlags) add(flags *flag.FlagSet) {
	flags.StringVar(&f.Group, "group", "", "only entries of this `group`")
	flags.BoolVar(&f.All, "all", false, "all entries, in place of PREFIX and --group")
	switch flags.Name() {
	case "limit":
		number(flags, &f.limit.Running, "running", 0, 0, 1_000_000, "handlers that run at a time, or 0")
		flags.Float64Var(&f.limit.PerSecond, "per-second", 0, "handlers that begin per second, or 0")
		number(flags, &f.limit.Burst, "burst", 0, 0, 1_000_000, "handlers that begin at once, or 0 for a tenth of --per-second")
		flags.BoolVar(&f.none, "none", false, "remove the limit")
	case "pause":
		flags.StringVar(&f.Reason, "reason", "", "a `text` for other operators")
		flags.StringVar(&f.By, "by", "", "the `name` of the operator")
	}
}

// choose returns the operation on the scope of the flags.
func (f *scopeFlags) choose(op operation, flags *flag.FlagSet, log io.Writer) (operation, error) {
	f.Prefix = flags.Arg(0)
	if f.All == (f.Prefix != "" || f.Group != "") {
		return op, wrongUsage(log, op.name, "PREFIX %q, --group %q, --all %t (expected: PREFIX or --group, or --all)", f.Prefix, f.Group, f.All)
	}
	if op.name == "limit" && f.none == (f.limit != durable.Limit{}) {
		return op, wrongUsage(log, op.name, "--none %t, %+v (expected: --running or --per-second, or --none)", f.none, f.limit)
	}
	return operation{name: op.name, do: func(ctx context.Context, s *place.Store, _ []string, _ *printer) error {
		return op.scope(s.Store, ctx, f)
	}}, nil
}

func (p *printer) pause(pause durable.Pause) error {
	return p.print(map[string]any{"prefix": pause.Prefix, "group": pause.Group, "reason": pause.Reason, "by": pause.By, "since": pause.Since},
		"%s  prefix %q  group %q  by %q: %q\n", pause.Since.Format(time.RFC3339), pause.Prefix, pause.Group, pause.By, pause.Reason)
}

func (p *printer) limit(l durable.LimitUse) error {
	return p.print(map[string]any{"prefix": l.Prefix, "group": l.Group, "running": l.Running, "per_second": l.PerSecond,
		"burst": l.Burst, "held": l.Held, "wants": l.Wants},
		"prefix %q  group %q  running %d  per second %g  burst %d  held %d  wants %d\n",
		l.Prefix, l.Group, l.Running, l.PerSecond, l.Burst, l.Held, l.Wants)
}
