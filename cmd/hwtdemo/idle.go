package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/echo"
	"github.com/hashedwheel/hwt/internal/cli"
)

const idleHelp = `Runs a TCP server that echoes what it receives, and closes with package idle the
connections that were silent for --idle-after. Some clients talk on (--talkers), the
others fall silent within --talk. In the end all silent ones must be closed, and none
of them early; if not, the exit status is 1.

Both ends of a connection are in this process, so each takes two open files. If the
limit of open files does not allow as many as asked for, the command takes fewer and
reports so.

With --serve-only there are no clients except yours. Ctrl-C ends it.`

// idleCommand is the command "idle".
type idleCommand struct {
	streams
	engine    engineFlags
	config    echo.Config
	serveOnly bool
	json      bool
}

// Ranges of the flags.
const (
	minIdleAfter   = 10 * time.Millisecond
	maxIdleAfter   = 24 * time.Hour
	maxConnections = 1_000_000
)

// newIdle returns the command "idle".
func newIdle(s streams) *cobra.Command {
	c := &idleCommand{streams: s, engine: engineFlags{tick: 100 * time.Millisecond}, config: echo.Config{
		Listen: "127.0.0.1:0", IdleAfter: 2 * time.Second, Connections: 10_000, Talkers: 50,
		Talk: 3 * time.Second, Seed: 1,
	}}
	cmd := &cobra.Command{
		Use:   "idle",
		Short: "Close ten thousand idle connections of a real server, on time",
		Long:  idleHelp,
		Example: `  hwtdemo idle                                       # takes some 7 seconds
  hwtdemo idle --connections 500 --idle-after 500ms  # a quick look
  hwtdemo idle --serve-only --listen 127.0.0.1:7000 --idle-after 10s
  nc 127.0.0.1 7000                                  # in another terminal; then be silent`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.check(cmd.Flags()); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&c.config.Listen, "listen", c.config.Listen, "address of the server; port 0 means any free one")
	flags.Var(duration(&c.config.IdleAfter, minIdleAfter, maxIdleAfter), "idle-after", "silence after which the server closes")
	flags.Var(number(&c.config.Connections, 1, maxConnections), "connections", "how many clients")
	flags.Var(percent(&c.config.Talkers), "talkers", "percent of the clients that never fall silent")
	flags.Var(duration(&c.config.Talk, 0, maxIdleAfter), "talk", "time within which the others fall silent")
	flags.Var(seed(&c.config.Seed), "seed", "seed for which clients fall silent")
	c.engine.add(cmd)
	flags.BoolVar(&c.serveOnly, "serve-only", false, "only serve, for clients of yours")
	flags.BoolVar(&c.json, "json", false, "write the report as one JSON object")
	return cmd
}

// check refuses an invalid address, and flags that do not go together.
func (c *idleCommand) check(flags *pflag.FlagSet) error {
	if _, err := net.ResolveTCPAddr("tcp", c.config.Listen); err != nil {
		return usageError{fmt.Errorf("--listen %q: %w", c.config.Listen, err)}
	}
	for _, name := range []string{"connections", "talkers", "talk", "seed", "json"} {
		if c.serveOnly && flags.Changed(name) {
			return usageError{fmt.Errorf("--%s: concerns the clients, and --serve-only has none", name)}
		}
	}
	return nil
}

// run does what the flags say until it is done or interrupted.
func (c *idleCommand) run(ctx context.Context) error {
	ctx, release := interruptible(ctx, func() {})
	defer release()
	timer, err := c.engine.open("idle")
	if err != nil {
		return err
	}
	defer timer.Stop()
	closePage, err := c.engine.page.start(c.err)
	if err != nil {
		return err
	}
	defer closePage()
	if c.serveOnly {
		return c.serve(ctx, timer)
	}
	return c.demonstrate(ctx, timer)
}

// serve serves until it is interrupted.
func (c *idleCommand) serve(ctx context.Context, timer hwt.Engine) error {
	server, err := echo.Listen(c.config.Listen, timer, c.config.IdleAfter, func(peer net.Addr, silent time.Duration) {
		fmt.Fprintf(c.out, "%v was silent for %s: closed\n", peer, cli.Duration(silent))
	})
	if err != nil {
		return err
	}
	at := server.Addr().(*net.TCPAddr)
	fmt.Fprintf(c.out, "Listening on %v; closes connections that are silent for %v. Try: nc %v %d\n",
		at, c.config.IdleAfter, at.IP, at.Port)
	defer context.AfterFunc(ctx, server.Close)()
	err = server.Serve()
	server.Close()
	if err != nil {
		return err
	}
	return errInterrupted
}

// demonstrate runs the server with its clients and reports.
func (c *idleCommand) demonstrate(ctx context.Context, timer hwt.Engine) error {
	c.fit()
	demo, err := echo.New(c.config, timer)
	if err != nil {
		return err
	}
	stop := cli.Follow(c.err, lineEvery, func() string { return idleStatus(demo.Progress()) })
	report, err := demo.Run(ctx)
	stop()
	if err != nil {
		return err
	}
	report.Engine = c.engine.String()
	return conclude(c.out, report, c.json, report.Interrupted)
}

// fit lowers the number of connections to what the limit of open files allows.
func (c *idleCommand) fit() {
	connections, limit := echo.Fit(c.config.Connections)
	switch {
	case connections < c.config.Connections:
		fmt.Fprintf(c.err, "The limit of %s open files allows %s connections with both their ends, not %s.\n",
			cli.Count(int64(limit)), cli.Count(int64(connections)), cli.Count(int64(c.config.Connections)))
	case limit > 0 && limit < 1<<62:
		fmt.Fprintf(c.err, "The limit of %s open files allows all %s connections.\n",
			cli.Count(int64(limit)), cli.Count(int64(connections)))
	}
	c.config.Connections = connections
}

// idleStatus fits into 80 columns with 10,000 connections.
func idleStatus(p echo.Progress) string {
	status := fmt.Sprintf("open %s  reaped %s of %s", cli.Count(p.Open), cli.Count(p.Reaped), cli.Count(p.Silent))
	if p.Reaped > 0 {
		status += fmt.Sprintf("  late p50 %s  p99 %s  max %s",
			cli.Duration(p.P50), cli.Duration(p.P99), cli.Duration(p.Max))
	}
	return status
}
