package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/echo"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/human"
)

const idleHelp = `Runs a TCP server that echoes what it gets and closes connections that were
silent for some time (--idle-after), by package idle, and a swarm of clients.
Some talk on (--talkers); the others fall silent within --talk.

It shows how many connections are open and reaped, and how late; at the end all
silent ones must be gone, and none of them early; if not, the exit status is 1.
Both ends of a connection are in this process, so it takes two files for each;
where the limit of open files does not allow as many as asked for, it says so
and takes fewer.

With --serve-only there are no clients but yours; Ctrl-C ends it.`

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
	c.addFlags(cmd)
	return cmd
}

func (c *idleCommand) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&c.config.Listen, "listen", c.config.Listen, "address of the server; port 0 is any that is free")
	flags.Var(duration(&c.config.IdleAfter, minIdleAfter, maxIdleAfter), "idle-after",
		"silence after which the server closes")
	flags.Var(number(&c.config.Connections, 1, maxConnections), "connections", "how many clients")
	flags.Var(percent(&c.config.Talkers), "talkers", "percent of the clients that never fall silent")
	flags.Var(duration(&c.config.Talk, 0, maxIdleAfter), "talk", "time within which the others fall silent")
	flags.Var(seed(&c.config.Seed), "seed", "seed of who falls silent and when")
	c.engine.add(flags)
	flags.BoolVar(&c.serveOnly, "serve-only", false, "only serve, for clients of yours")
	flags.BoolVar(&c.json, "json", false, "write the report as one JSON object")
}

// check refuses an address that is none, and the flags that do not go together.
func (c *idleCommand) check(flags *pflag.FlagSet) error {
	if _, err := net.ResolveTCPAddr("tcp", c.config.Listen); err != nil {
		return usageError{fmt.Errorf("--listen %q: %w", c.config.Listen, err)}
	}
	for _, name := range []string{"connections", "talkers", "talk", "seed", "json"} {
		if c.serveOnly && flags.Changed(name) {
			return usageError{fmt.Errorf("--%s: is of the clients and their report, and --serve-only has none", name)}
		}
	}
	return nil
}

// run does what the flags say until it is done or interrupted.
func (c *idleCommand) run(ctx context.Context) error {
	ctx, release := interruptible(ctx)
	defer release()
	timer, err := c.engine.open("idle")
	if err != nil {
		return err
	}
	defer timer.Stop()
	if c.serveOnly {
		return c.serve(ctx, timer)
	}
	return c.show(ctx, timer)
}

// serve serves until it is interrupted.
func (c *idleCommand) serve(ctx context.Context, timer engine) error {
	server, err := echo.Listen(c.config.Listen, timer, c.config.IdleAfter, func(peer net.Addr, silent time.Duration) {
		fmt.Fprintf(c.out, "%v was silent for %s: closed\n", peer, human.Duration(silent))
	})
	if err != nil {
		return err
	}
	at := server.Addr().(*net.TCPAddr)
	fmt.Fprintf(c.out, "Listening on %v; who is silent for %v is closed. Try: nc %v %d\n",
		at, c.config.IdleAfter, at.IP, at.Port)
	defer context.AfterFunc(ctx, server.Close)()
	err = server.Serve()
	server.Close()
	if err != nil {
		return err
	}
	return errInterrupted
}

// show lets the swarm loose and reports.
func (c *idleCommand) show(ctx context.Context, timer engine) error {
	c.fit()
	show, err := echo.New(c.config, timer)
	if err != nil {
		return err
	}
	stop := followShow(show, c.err)
	report, err := show.Run(ctx)
	stop()
	if err != nil {
		return err
	}
	report.Engine = c.engine.String()
	if err := c.write(report); err != nil {
		return err
	}
	return c.verdict(report)
}

// verdict turns the report into an error if there is reason to.
func (c *idleCommand) verdict(report *echo.Report) error {
	if err := report.Err(); err != nil {
		return err
	}
	if report.Interrupted {
		return errInterrupted
	}
	return nil
}

// fit makes do with the files that the process may open.
func (c *idleCommand) fit() {
	connections, limit := echo.Fit(c.config.Connections)
	switch {
	case connections < c.config.Connections:
		fmt.Fprintf(c.err, "The limit of %s open files allows %s connections with both their ends, not %s.\n",
			human.Count(int64(limit)), human.Count(int64(connections)), human.Count(int64(c.config.Connections)))
	case limit > 0 && limit < 1<<62:
		fmt.Fprintf(c.err, "The limit of %s open files allows all %s connections.\n",
			human.Count(int64(limit)), human.Count(int64(connections)))
	}
	c.config.Connections = connections
}

// write writes the report in the form asked for.
func (c *idleCommand) write(report *echo.Report) error {
	if !c.json {
		_, err := io.WriteString(c.out, report.Text())
		return err
	}
	encoder := json.NewEncoder(c.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}
