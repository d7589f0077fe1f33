package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// command is a command of hwtdemo.
type command struct {
	name     string
	short    string // a line for the list of commands
	long     string
	examples string // indented by two blanks
	flags    *flag.FlagSet
	run      func(context.Context) error
}

// newCommand returns a command without flags yet.
func newCommand(name, short, long, examples string) *command {
	c := &command{name: name, short: short, long: long, examples: examples}
	c.flags = flag.NewFlagSet(name, flag.ContinueOnError)
	c.flags.SetOutput(io.Discard)
	c.flags.Usage = func() {}
	return c
}

const help = `hwtdemo demonstrates the timers of hwt, and tests them under load.

Usage: hwtdemo COMMAND [flags]

Commands:
%s
Results go to the standard output, everything else to the standard error. The
exit status is 0 for success, 1 for a failure, 2 for wrong usage, and 130 after
an interrupt: Ctrl-C, SIGTERM or SIGHUP. The first interrupt ends a command
gracefully, the second immediately.

Examples:
  hwtdemo orders            # a million orders, each with a timeout
  hwtdemo soak --for 10m    # test every engine under load
`

// dispatch runs the command that args name. path names it for messages.
func dispatch(ctx context.Context, args []string, s streams) (path string, err error) {
	commands := []*command{newOrders(s), newSoak(s)}
	helps := len(args) == 0 || slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0])
	if helps && len(args) > 0 {
		args = args[1:]
	}
	if len(args) == 0 {
		_, err = fmt.Fprintf(s.out, help, list(commands))
		return "hwtdemo", err
	}
	var names []string
	for _, c := range commands {
		if c.name == args[0] {
			return "hwtdemo " + c.name, c.execute(ctx, args[1:], helps, s.out)
		}
		names = append(names, c.name)
	}
	return "hwtdemo", usageError{fmt.Errorf("unknown command %q (expected: %s)", args[0], strings.Join(names, " or "))}
}

func list(commands []*command) string {
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&b, "  %-8s %s\n", c.name, c.short)
	}
	return b.String()
}

// execute parses the flags and runs the command, or writes its help.
func (c *command) execute(ctx context.Context, args []string, helps bool, out io.Writer) error {
	err := c.parse(args)
	if helps || errors.Is(err, flag.ErrHelp) {
		_, err := io.WriteString(out, c.help())
		return err
	}
	if err != nil {
		return usageError{err}
	}
	ctx, release := interruptible(ctx)
	defer release()
	return c.run(ctx)
}

// oneDash finds the name of a flag in an error of package flag, which writes one dash.
var oneDash = regexp.MustCompile(`^(flag [a-z ]+: |invalid (?:boolean )?value ".*" for (?:flag )?)-`)

// parse parses the flags.
func (c *command) parse(args []string) error {
	switch err := c.flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return errors.New(oneDash.ReplaceAllString(err.Error(), "$1--"))
	case c.flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", c.flags.Arg(0))
	}
	return nil
}

// changed reports whether the command line has the flag.
func (c *command) changed(name string) (found bool) {
	c.flags.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// help returns the help text, in 80 columns.
func (c *command) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage: hwtdemo %s [flags]\n\nFlags:\n", c.long, c.name)
	c.flags.VisitAll(func(f *flag.Flag) {
		kind := ""
		if v, ok := f.Value.(interface{ Type() string }); ok {
			kind = v.Type()
		}
		usage := f.Usage
		if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "false" {
			usage += " (default " + f.DefValue + ")"
		}
		for i, line := range wrap(usage, helpWidth-helpIndent) {
			head := ""
			if i == 0 {
				head = strings.TrimRight("--"+f.Name+" "+kind, " ")
			}
			fmt.Fprintf(&b, "  %-*s%s\n", helpIndent-2, head, line)
		}
	})
	fmt.Fprintf(&b, "\nExamples:\n%s\n", c.examples)
	return b.String()
}

// The columns of a help text, and the one in which the flags' usage begins.
const (
	helpWidth  = 80
	helpIndent = 28
)

// wrap breaks text into lines of at most width bytes.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimLeft(line+" "+word, " ")
	}
	return append(lines, line)
}
