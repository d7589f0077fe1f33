package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/check"
)

// runCheck is the command check.
func runCheck(ctx context.Context, args []string, out, log io.Writer) error {
	flags := newFlags("check", log)
	var o check.Options
	span(flags, &o.For, "for", 2*time.Minute, 10*time.Second, 100*time.Hour, "time for all scenarios together; each fault is injected once at least")
	flags.StringVar(&o.Keep, "keep", "", "keep the files of failures in this `folder`")
	names := strings.Join(check.Names(), " or ")
	flags.StringVar(&o.Only, "only", "", "run only this `scenario`: "+names)
	if err := parse(flags, args, log); err != nil {
		return err
	}
	if o.Only != "" && !slices.Contains(check.Names(), o.Only) {
		return wrongUsage(log, "check", "--only: %q (expected: %s)", o.Only, names)
	}
	return check.All(ctx, o, out)
}
