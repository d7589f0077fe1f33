package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/echo"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/text"
	"github.com/hashedwheel/hwt/internal/cli"
)

const idleHelp = `Runs a TCP echo server. Package idle closes its connections that are silent for
--idle-after. Some clients keep talking (--talkers), the others fall silent
within --talk. At the end all silent connections must be closed, and none of
them early; otherwise the exit status is 1.

A connection takes two open files, because both ends are in this process. If the
limit of open files is too low, the command opens fewer and reports it.

With --serve-only there are no clients except yours. Ctrl-C ends it.`

const idleExamples = `  hwtdemo idle                                       # takes about 7 seconds
  hwtdemo idle --connections 500 --idle-after 500ms  # a quick look
  hwtdemo idle --serve-only --listen 127.0.0.1:7000 --idle-after 10s
  nc 127.0.0.1 7000                                  # in another terminal`

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
func newIdle(s streams) *command {
	c := &idleCommand{streams: s, engine: engineFlags{tick: 100 * time.Millisecond}, config: echo.Config{
		Listen: "127.0.0.1:0", IdleAfter: 2 * time.Second, Connections: 10_000, Talkers: 50,
		Talk: 3 * time.Second, Seed: 1,
	}}
	cmd := newCommand("idle", "Ten thousand idle connections of a real server, closed on time", idleHelp, idleExamples)
	cmd.run = func(ctx context.Context, _ []string) error { return c.run(ctx) }
	cmd.flags.Var(address{&c.config.Listen}, "listen", "the server's; port 0 means any free port, no host this machine only")
	cmd.flags.Var(duration(&c.config.IdleAfter, minIdleAfter, maxIdleAfter), "idle-after", "silence after which the server closes")
	cmd.flags.Var(number(&c.config.Connections, 1, maxConnections), "connections", "number of clients")
	cmd.flags.Var(percent(&c.config.Talkers), "talkers", "percentage of the clients that never fall silent")
	cmd.flags.Var(duration(&c.config.Talk, 0, maxIdleAfter), "talk", "time within which the others fall silent")
	cmd.flags.Var(seed(&c.config.Seed), "seed", "seed of the choice of silent clients")
	cmd.flags.BoolVar(&c.serveOnly, "serve-only", false, "only serve; connect with your own clients")
	cmd.flags.BoolVar(&c.json, "json", false, "write the report as one JSON object")
	c.engine.add(cmd)
	return cmd
}

// check rejects flags that do not go together.
func (c *idleCommand) check() error {
	for _, name := range []string{"connections", "talkers", "talk", "seed", "json"} {
		if c.serveOnly && c.engine.cmd.changed(name) {
			return usageError{fmt.Errorf("--%s: does not go with --serve-only, which has no clients", name)}
		}
	}
	return c.engine.check()
}

// run serves or demonstrates.
func (c *idleCommand) run(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
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
	fmt.Fprintf(c.out, "Listening on %v; closes connections that are silent for %s. Try: nc %v %d\n",
		at, text.Value(c.config.IdleAfter), at.IP, at.Port)
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

// fit reduces the number of connections to the limit of open files.
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
