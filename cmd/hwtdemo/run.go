package main

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/jobs"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/runner"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
	"github.com/hashedwheel/hwt/internal/cli"
)

const runHelp = `Fires the schedule in FILE. With - or without FILE it is read from the standard
input, to the end before anything starts. --example fires a shop's evening instead.

CSV has a header that names its columns, in any order. JSON lines have the same names
as fields, all of them strings:

  at       when the row acts, after the start; 0 if absent
  op       schedule, cancel or reset; schedule if absent
  id       of the timeout: any name, scheduled once in a file
  delay    schedule and reset: from "at" to when the timeout fires
  message  schedule: the message to print

"at" and "delay" are durations such as 250ms, 5s or 1m30s. Rows act in the order of
their times, and at the same time in the order of the file.

Each timeout that fires writes a line: when, its id, how late it was, its message. A
cancel or reset of a timeout that has ended is not an error, but a notice. In the end
a summary goes to the standard error.

A row is one line of at most 64 KiB. A file has at most 1,000,000 rows and 256 MiB.
Blank lines and lines that begin with "# " are skipped; "#1001" is an id. A bad row is
reported as FILE:LINE, the others run, and the exit status is 1. With --strict nothing
runs then.

--exec runs a command for each timeout that fires, with its id in the environment
variable HWT_ID and its message in HWT_MESSAGE. There is no shell, and no part of a row
is ever part of the command line. To have a shell, name it:
--exec 'sh -c "echo \"$HWT_ID\" >>fired.log"'. At most --jobs commands run at once. If
one fails, the exit status is 1.

Ctrl-C, SIGTERM and SIGHUP end the run: running commands are asked to end and killed
two seconds later, or at once at a second Ctrl-C, and what has not fired is listed.`

// runCommand is the command "run".
type runCommand struct {
	streams
	engine  engineFlags
	format  schedule.Format
	example bool
	strict  bool
	json    bool
	exec    string
	jobs    int
}

const maxJobs = 1024

// newRun returns the command "run".
func newRun(s streams) *cobra.Command {
	c := &runCommand{streams: s, jobs: 4}
	cmd := &cobra.Command{
		Use:   "run [FILE|-]",
		Short: "Fire a schedule of yours, in CSV or JSON lines",
		Long:  runHelp,
		Example: `  hwtdemo run --example
  printf 'id,delay,message\ntea,3m,Tea is ready\n' | hwtdemo run
  hwtdemo run --json day.jsonl | jq -r .id
  hwtdemo run --exec 'notify-send -u low "A timer fired"' --jobs 1 day.csv
  hwtdemo run --exec 'sh -c "echo \"$HWT_ID: $HWT_MESSAGE\" >>fired.log"' day.csv`,
		Args: usageArgs(atMostOneFile),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&c.example, "example", false, "fire the example, which takes 10 seconds")
	flags.Var(choice[schedule.Format]{&c.format, "format", []schedule.Format{schedule.CSV, schedule.JSONL}}, "format",
		"csv or jsonl (default: by the name of FILE; csv for the standard input)")
	flags.BoolVar(&c.strict, "strict", false, "run nothing if any row is bad")
	flags.BoolVar(&c.json, "json", false, "write each firing as a JSON object on a line")
	flags.StringVar(&c.exec, "exec", "", "`command` to run for each firing")
	flags.Var(number(&c.jobs, 1, maxJobs), "jobs", "how many commands run at once")
	c.engine.add(cmd)
	return cmd
}

func atMostOneFile(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("takes one FILE, not %d", len(args))
	}
	return nil
}

// run reads the schedule and carries it out.
func (c *runCommand) run(cmd *cobra.Command, args []string) error {
	in, err := c.input(args)
	if err != nil {
		return err
	}
	pool, err := c.pool(cmd.Flags())
	if err != nil {
		return err
	}
	ctx, release := interruptible(cmd.Context(), pool.Kill)
	defer release()
	read, err := in.read(ctx)
	if err != nil {
		return err
	}
	for _, p := range read.Problems {
		fmt.Fprintf(c.err, "%s:%d: %s\n", in.name, p.Line, p.Text)
	}
	if c.strict && len(read.Problems) > 0 {
		return fmt.Errorf("nothing was run: %s in %s", cli.Plural(len(read.Problems), "bad row"), in.name)
	}
	return c.fire(ctx, read, &printer{runCommand: c, input: in.name, pool: pool})
}

// pool returns the pool for the command of --exec. Without one it gets no jobs.
func (c *runCommand) pool(flags *pflag.FlagSet) (*jobs.Pool, error) {
	command := jobs.Command{Stdout: c.out.Writer, Stderr: c.err}
	if c.json {
		command.Stdout = c.err // the standard output is for JSON
	}
	if flags.Changed("exec") {
		words, err := jobs.Split(c.exec)
		if err == nil {
			_, err = exec.LookPath(words[0])
		}
		if err != nil {
			return nil, usageError{fmt.Errorf("--exec %q: %w", c.exec, err)}
		}
		command.Args = words
	}
	return jobs.New(command, c.jobs, func(id string, err error) {
		fmt.Fprintf(c.err, "hwtdemo: command for %s: %v\n", printable(id), err)
	}), nil
}

// fire carries out the schedule and sums up. ctx ends at an interrupt. An output
// that fails ends the run as well.
func (c *runCommand) fire(ctx context.Context, read *schedule.Schedule, p *printer) error {
	timer, err := c.engine.open("run")
	if err != nil {
		return err
	}
	closePage, err := c.engine.page.start(c.err)
	if err != nil {
		return err
	}
	defer closePage()
	defer keepBrokenPipes()()
	running, abort := context.WithCancel(ctx)
	defer abort()
	p.abort = abort
	defer context.AfterFunc(running, p.pool.Stop)()
	s := summary{badRows: len(read.Problems), interrupted: ctx}
	s.counts, s.unfired, err = runner.New(timer, read.Rows, p).Run(running)
	s.jobs, s.failure = p.pool.Wait(), cmp.Or(err, c.out.failure())
	s.write(c.err)
	return s.err()
}
