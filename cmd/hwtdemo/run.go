package main

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/jobs"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/output"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/runner"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
)

const runHelp = `Fires a schedule that you bring, from FILE or, with - or without FILE, from the
standard input, which is read to its end before anything starts.

CSV has a header that names its columns, in any order; JSON lines have the same
names as fields, all of them strings:

  at       when to act, counted from the start; 0 if absent
  op       schedule, cancel or reset; schedule if absent
  id       which timeout: a name of your choice, scheduled once in a file
  delay    schedule and reset: when it shall fire, counted from "at"
  message  schedule: what to say then

"at" and "delay" are durations such as 250ms, 5s or 1m30s. Rows act in the order
of their times, and in the order of the file at the same time.

Each timeout that fires writes a line: when, id, message, and how late it was.
To cancel or reset what has fired or was cancelled already is no error, but a
notice. At the end a summary goes to the standard error.

A row is one line of at most 64 KiB; a file has at most 1,000,000 of them, and
256 MiB in all. Lines that are blank or begin with "# " are skipped (a "#1001" is
an id), as is a byte order mark. A bad row is reported as FILE:LINE and left out, the others
run, and the exit status is 1; with --strict nothing runs then.

--exec runs a command for each timeout that fires, with its id in the environment
as HWT_ID and its message as HWT_MESSAGE. The command is cut into words at blanks
outside quotes; it is not given to a shell, and nothing of a row is ever part of
it. If you want a shell, name it: --exec 'sh -c "echo $HWT_ID >>fired.log"', and
mind the quotes around $HWT_MESSAGE there if others write the schedule. At most
--jobs commands run at once, others wait; if one fails, so does hwtdemo, with 1.

Ctrl-C (or SIGTERM) stops: commands that run are asked to end and killed two
seconds later, and what had not fired is listed with the time that remained.`

// runCommand is the command "run".
type runCommand struct {
	streams
	engine engineFlags
	format schedule.Format
	strict bool
	json   bool
	exec   string
	jobs   int

	name string // of the input, for messages
	pool *jobs.Pool
}

// Ranges of the flags.
const maxJobs = 1024

// newRun returns the command "run".
func newRun(s streams) *cobra.Command {
	c := &runCommand{streams: s, jobs: 4}
	cmd := &cobra.Command{
		Use:   "run [FILE|-]",
		Short: "Fire a schedule that you bring as CSV or JSON lines",
		Long:  runHelp,
		Example: `  hwtdemo run testdata/shop-day.csv
  printf 'id,delay,message\ntea,3m,Tea is ready\n' | hwtdemo run
  hwtdemo run --json day.jsonl | jq -r .id
  hwtdemo run --exec 'notify-send -u low "A timer fired"' --jobs 1 day.csv
  hwtdemo run --exec 'sh -c "echo \"$HWT_ID: $HWT_MESSAGE\" >>fired.log"' day.csv`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: c.run,
	}
	c.addFlags(cmd)
	return cmd
}

func (c *runCommand) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(formatFlag{&c.format}, "format", "csv or jsonl (default: by the ending of FILE; csv for the standard input)")
	flags.BoolVar(&c.strict, "strict", false, "run nothing if any row is bad")
	flags.BoolVar(&c.json, "json", false, "write each firing as a JSON object on a line")
	flags.StringVar(&c.exec, "exec", "", "`command` to run for each firing")
	flags.Var(number(&c.jobs, 1, maxJobs), "jobs", "how many commands run at once")
	c.engine.add(flags)
}

// formatFlag is a flag for a format. It implements pflag.Value.
type formatFlag struct{ format *schedule.Format }

// String returns the format, or nothing as long as it is to be guessed.
func (f formatFlag) String() string {
	if f.format == nil {
		return ""
	}
	return string(*f.format)
}

// Type names the kind of value for the help.
func (f formatFlag) Type() string { return "format" }

// Set takes the format called name.
func (f formatFlag) Set(name string) (err error) {
	*f.format, err = schedule.ParseFormat(name)
	return err
}

// run reads the schedule and carries it out.
func (c *runCommand) run(cmd *cobra.Command, args []string) error {
	words, err := c.execWords(cmd)
	if err != nil {
		return err
	}
	ctx, release := interruptible(cmd.Context())
	defer release()
	read, err := c.read(ctx, args)
	if err != nil {
		return err
	}
	c.complain(read.Problems)
	if c.strict && len(read.Problems) > 0 {
		return fmt.Errorf("nothing was run: %s in %s", counted(len(read.Problems), "bad row"), c.name)
	}
	return c.fire(ctx, words, read)
}

// execWords returns the command of --exec, which must be there to be run.
func (c *runCommand) execWords(cmd *cobra.Command) ([]string, error) {
	if !cmd.Flags().Changed("exec") {
		return nil, nil
	}
	words, err := jobs.Words(c.exec)
	switch {
	case err != nil:
		return nil, usageError{fmt.Errorf("--exec %q: %w", c.exec, err)}
	case len(words) == 0 || words[0] == "":
		return nil, usageError{fmt.Errorf("--exec %q: must name a command", c.exec)}
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, usageError{fmt.Errorf("--exec: %w", err)}
	}
	return words, nil
}

// fire carries out the schedule and sums up. interrupt is the context that an
// interrupt ends; an output that cannot be written stops the run as well.
func (c *runCommand) fire(interrupt context.Context, words []string, read *schedule.Schedule) error {
	timer, err := c.engine.open("run")
	if err != nil {
		return err
	}
	defer keepBrokenPipes()()
	ctx, abort := context.WithCancel(interrupt)
	defer abort()
	lines, notes := output.NewLines(c.out, func(error) { abort() }), output.NewLines(c.err, func(error) {})
	if words != nil {
		c.pool = c.newPool(ctx, words)
	}
	s := &summary{c: c, badRows: len(read.Problems)}
	s.counts, s.unfired, s.err = runner.New(timer, read.Rows, &teller{c: c, lines: lines, notes: notes}).Run(ctx)
	s.jobs = c.waitForJobs()
	if err := lines.Close(); err != nil && s.err == nil {
		s.err = fmt.Errorf("writing the output: %w", err)
	}
	_ = notes.Close() // where should that be reported?
	s.interrupted = interrupt.Err() != nil
	return s.conclude()
}

// newPool returns the pool for --exec.
func (c *runCommand) newPool(ctx context.Context, words []string) *jobs.Pool {
	command := jobs.Command{Args: words, Stdout: c.out, Stderr: c.err}
	if c.json {
		command.Stdout = c.err // nothing but JSON on the standard output
	}
	return jobs.New(ctx, command, c.jobs, func(id string, err error) {
		fmt.Fprintf(c.err, "hwtdemo: command for %s: %v\n", id, err)
	})
}

// waitForJobs waits for the commands of --exec.
func (c *runCommand) waitForJobs() jobs.Counts {
	if c.pool == nil {
		return jobs.Counts{}
	}
	return c.pool.Wait()
}

// counted writes n of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
