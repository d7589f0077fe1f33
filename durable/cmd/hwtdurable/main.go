// Command hwtdurable operates, checks, and measures stores of durable entries. Run
// it without arguments for its commands.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// command is one of the words that may follow hwtdurable.
type command struct {
	name string
	args string
	help string
	run  func(ctx context.Context, args []string, out, log io.Writer) error
}

func commands() []command {
	return []command{
		{"list", "[PREFIX]", "list pending entries", operate(list)},
		{"get", "KEY", "print a pending entry", operate(get)},
		{"cancel", "KEY", "cancel an entry", operate(cancel)},
		{"move", "KEY TIME", "move an entry to a time, such as +10m or 2026-01-02T15:04:05Z", operate(move)},
		{"dead", "[PREFIX]", "list dead letters", operate(dead)},
		{"requeue", "[KEY] [GENERATION]", "make a dead letter pending again, due now, or many by flags", operate(requeue)},
		{"discard", "[KEY] [GENERATION]", "remove a dead letter, or many by flags", operate(discard)},
		{"pause", "[PREFIX]", "keep entries from firing", operate(pause)},
		{"resume", "[PREFIX]", "end a pause", operate(resume)},
		{"pauses", "", "list the pauses", operate(pauses)},
		{"limit", "[PREFIX]", "limit the handlers of entries", operate(limit)},
		{"limits", "", "list the limits", operate(limits)},
		{"stats", "", "print the store's sizes", operate(stats)},
		{"verify", "", "read everything and report damage", operate(verify)},
		{"backup", "FILE", "copy an SQLite store to a new file (PostgreSQL: pg_dump)", operate(backup)},
		{"restore", "FILE", "copy a backup to a new store (PostgreSQL: pg_restore)", runRestore},
		{"migrate", "", "copy a store to a new store", runMigrate},
		{"lateness", "", "measure the lateness of firings", runLateness},
		{"figures", "", "print the table of durable's README, in about eleven minutes", runFigures},
		{"check", "", "check the promises under faults", runCheck},
	}
}

func main() {
	runRoles()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // or it would end the process; broken connections cause it, too
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	os.Exit(run(ctx, os.Args[1:], pipe{os.Stdout, end}, pipe{os.Stderr, end}))
}

// pipe is an output that interrupts the command when its reader is gone.
type pipe struct {
	io.Writer
	end context.CancelCauseFunc
}

var errPipe = errors.New("the output has no reader")

// Write implements [io.Writer].
func (p pipe) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		err = errPipe
		p.end(err)
	}
	return n, err
}

// errUsage ends the program with status 2, after a message.
var errUsage = errors.New("wrong usage")

// run runs the command that args name and returns the exit status.
func run(ctx context.Context, args []string, out, log io.Writer) int {
	if len(args) == 0 || slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		usage(out)
		return 0
	}
	c := find(args[0])
	if c.run == nil {
		fmt.Fprintf(log, "hwtdurable: unknown command %q\n\n", args[0])
		usage(log)
		return 2
	}
	err := c.run(ctx, args[1:], out, log)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		return 2
	case errors.Is(err, errPipe), context.Cause(ctx) == errPipe: // such as | head, which has read enough
		return 141
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(log, "hwtdurable: interrupted:", err)
		return 130
	}
	fmt.Fprintln(log, "hwtdurable:", err)
	return 1
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Durable entries in SQLite or PostgreSQL.\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  hwtdurable %-24s %s\n", c.name+" "+c.args, c.help)
	}
	fmt.Fprint(w, "\nEach command shows its flags with --help.\n"+
		"Exit status: 1 after an error, 2 after wrong usage, 130 after an interrupt.\n")
}

// newFlags returns the flags of a command.
func newFlags(name string, log io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(log)
	flags.Usage = func() {
		c := find(name)
		fmt.Fprintf(log, "hwtdurable %s: %s\n\n", strings.TrimSpace(name+" "+c.args), c.help)
		flags.PrintDefaults()
	}
	return flags
}

// find returns the command of a name, or an empty one.
func find(name string) (found command) {
	for _, c := range commands() {
		if c.name == name {
			found = c
		}
	}
	return found
}

// ranged adds a flag whose value has a range, which its help states.
func ranged[T int | time.Duration](flags *flag.FlagSet, value *T, parse func(string) (T, error), name string, initial, least, most T, help string) {
	*value = initial
	flags.Func(name, fmt.Sprintf("%s, %v to %v (default %v)", help, least, most, initial), func(s string) error {
		v, err := parse(s)
		if err != nil || v < least || v > most {
			return fmt.Errorf("must be from %v to %v", least, most)
		}
		*value = v
		return nil
	})
}

func number(flags *flag.FlagSet, value *int, name string, initial, least, most int, help string) {
	ranged(flags, value, strconv.Atoi, name, initial, least, most, help)
}

func span(flags *flag.FlagSet, value *time.Duration, name string, initial, least, most time.Duration, help string) {
	ranged(flags, value, time.ParseDuration, name, initial, least, most, help)
}

// parse parses flags and positional arguments in any order. Their number is that of the words
// in the command's help, of which those in brackets may be missing.
func parse(flags *flag.FlagSet, args []string, log io.Writer) error {
	var rest []string
	for {
		if err := flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return err
			}
			return errUsage
		}
		if args = flags.Args(); len(args) == 0 {
			break
		}
		rest, args = append(rest, args[0]), args[1:]
	}
	want := find(flags.Name()).args
	most := len(strings.Fields(want))
	if least := most - strings.Count(want, "["); len(rest) < least || len(rest) > most {
		return wrongUsage(log, flags.Name(), "%d arguments (expected: %s)", len(rest), cmp.Or(want, "none"))
	}
	return flags.Parse(append([]string{"--"}, rest...))
}

// wrongUsage prints the reason and returns errUsage.
func wrongUsage(log io.Writer, command, format string, args ...any) error {
	fmt.Fprintf(log, "hwtdurable %s: %s\n", command, fmt.Sprintf(format, args...))
	return errUsage
}
