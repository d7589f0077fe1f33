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
	span(flags, &o.For, "for", 2*time.Minute, 10*time.Second, 100*time.Hour, "time for all scenarios together")
	flags.StringVar(&o.Keep, "keep", "", "keep the files of failures in this `folder`")
	only := flags.String("only", "", "`names` of scenarios with commas between them: "+strings.Join(check.Names(), ", "))
	if err := parse(flags, args, 0, 0, log); err != nil {
		return err
	}
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	for _, name := range o.Only {
		if !slices.Contains(check.Names(), name) {
			return wrongUsage(log, "check", "--only: %q (expected: %s)", name, strings.Join(check.Names(), ", "))
		}
	}
	return check.All(ctx, o, out)
}
