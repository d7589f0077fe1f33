// Command hwtdurable shows timers that survive, and lets operators see and change
// them. Run it without arguments for its commands.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
)

// command is one of the words that may follow hwtdurable.
type command struct {
	name string
	args string
	what string
	run  func(ctx context.Context, args []string, out, log io.Writer) error
}

func commands() []command {
	return []command{
		{"orders", "", "a shop whose processes are killed, and its totals", runOrders},
		{"lateness", "", "measure how late timers fire", runLateness},
		{"size", "", "measure what very many timers take", runSize},
		{"list", "", "the pending timers", operate(list)},
		{"get", "KEY", "one pending timer", operate(get)},
		{"cancel", "KEY", "cancel a timer", operate(cancel)},
		{"move", "KEY TIME", "move a timer to a time, such as +10m or 2026-01-02T15:04:05Z", operate(move)},
		{"dead", "", "the timers that were given up", operate(dead)},
		{"requeue", "KEY GENERATION", "make a dead letter a timer again, due now", operate(requeue)},
		{"discard", "KEY GENERATION", "remove a dead letter", operate(discard)},
		{"stats", "", "the store's sizes", operate(stats)},
	}
}

func main() {
	if status, asked := role.Asked(); asked {
		os.Exit(status)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// errUsage ends the program with status 2. What is wrong was printed.
var errUsage = errors.New("wrong usage")

// run runs the command that args name, and returns the exit status.
func run(ctx context.Context, args []string, out, log io.Writer) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		usage(out)
		return 0
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		err := c.run(ctx, args[1:], out, log)
		switch {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return 0
		case errors.Is(err, errUsage):
			return 2
		}
		fmt.Fprintln(log, "hwtdurable:", err)
		return 1
	}
	fmt.Fprintf(log, "hwtdurable: no command %q\n\n", args[0])
	usage(log)
	return 2
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Timers that survive.\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  hwtdurable %-24s %s\n", c.name+" "+c.args, c.what)
	}
	fmt.Fprint(w, "\nEach command shows its flags with --help.\n")
}
