package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
)

// operation is a command on a store.
type operation struct {
	name  string
	whole bool // reads the whole store, for as long as that takes
	do    func(ctx context.Context, s *place.Store, args []string, p *printer) error
	many  func(*durable.Store, context.Context, durable.Letters) (int, error) // in place of do, if letterFlags select letters
	scope func(*durable.Store, context.Context, *scopeFlags) error            // in place of do
}

// operate returns the function of a command on a store.
func operate(op operation) func(context.Context, []string, io.Writer, io.Writer) error {
	return func(ctx context.Context, args []string, out, log io.Writer) error {
		flags := newFlags(op.name, log)
		var where place.Place
		where.Flags(flags)
		var wait time.Duration
		waitFlag(flags, &wait, op.whole)
		asJSON := flags.Bool("json", false, "print JSON, one object per line")
		var chosen letterFlags
		if op.many != nil {
			chosen.add(flags)
		}
		var scoped scopeFlags
		if op.scope != nil {
			scoped.add(flags)
		}
		err := parse(flags, args, log)
		if err == nil && op.scope != nil {
			op, err = scoped.choose(op, flags, log)
		}
		if err == nil && op.many != nil {
			op, err = chosen.choose(op, flags, log)
		}
		if err != nil {
			return err
		}
		bounded, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		s, err := where.Open(bounded, true)
		if errors.Is(err, place.ErrOne) {
			return wrongUsage(log, op.name, "%v", err)
		}
		if err != nil {
			return waited(ctx, bounded, wait, err)
		}
		if op.whole {
			bounded = ctx
		}
		return errors.Join(waited(ctx, bounded, wait, op.do(bounded, s, flags.Args(), &printer{out, *asJSON})), s.Close())
	}
}

// waited explains an error after the end of the wait for a database.
func waited(ctx, bounded context.Context, wait time.Duration, err error) error {
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("the database did not answer within --wait %v: %w", wait, err)
	}
	return err
}

// waitFlag adds the flag that bounds the wait for a database. A command that reads a whole store
// then takes as long as it needs.
func waitFlag(flags *flag.FlagSet, wait *time.Duration, whole bool) {
	help := "the longest `time` to wait for the database"
	if whole {
		help = "the longest `time` to open the database; reading it takes as long as it needs"
	}
	span(flags, wait, "wait", 10*time.Second, 100*time.Millisecond, time.Hour, help)
}

var (
	list = operation{name: "list", whole: true, do: func(ctx context.Context, s *place.Store, args []string, p *printer) error {
		series, stop := iter.Pull2(s.Series(ctx, prefix(args)))
		defer stop()
		var last durable.Series
		more := true
		return printAll(s.All(ctx, prefix(args)), func(e durable.Entry) error {
			for more && last.Key < e.Key {
				last, _, more = series() // All returns the errors
			}
			if last.Key != e.Key || last.Generation != e.Generation {
				return p.entry(e, nil)
			}
			return p.entry(e, last.Last)
		})
	}}
	get = operation{name: "get", do: func(ctx context.Context, s *place.Store, args []string, p *printer) error {
		return p.result(s.Get(ctx, args[0]))
	}}
	cancel = operation{name: "cancel", do: func(ctx context.Context, s *place.Store, args []string, p *printer) error {
		return p.result(s.Cancel(ctx, args[0]))
	}}
	move = operation{name: "move", do: func(ctx context.Context, s *place.Store, args []string, p *printer) error {
		due, err := parseTime(args[1], time.Now())
		if err != nil {
			return err
		}
		return p.result(s.Move(ctx, args[0], due))
	}}
	dead = operation{name: "dead", whole: true, do: func(ctx context.Context, s *place.Store, args []string, p *printer) error {
		return printAll(s.Dead(ctx, prefix(args)), p.dead)
	}}
	requeue = operation{name: "requeue", do: func(ctx context.Context, s *place.Store, args []string, p *printer) error {
		generation, err := parseGeneration(args[1])
		if err != nil {
			return err
		}
		return p.result(s.Requeue(ctx, args[0], generation))
	}, many: (*durable.Store).RequeueMany}
	discard = operation{name: "discard", do: func(ctx context.Context, s *place.Store, args []string, _ *printer) error {
		generation, err := parseGeneration(args[1])
		if err != nil {
			return err
		}
		return s.Discard(ctx, args[0], generation)
	}, many: (*durable.Store).DiscardMany}
	stats = operation{name: "stats", do: func(ctx context.Context, s *place.Store, _ []string, p *printer) error {
		st, err := s.Stats(ctx)
		if err != nil {
			return err
		}
		return p.stats(st)
	}}
)

// letterFlags are the flags that select dead letters.
type letterFlags struct {
	durable.Letters
	older time.Duration
}

func (l *letterFlags) add(flags *flag.FlagSet) {
	flags.StringVar(&l.Prefix, "prefix", "", "each dead letter with this `prefix` of its key, in place of KEY and GENERATION")
	flags.StringVar(&l.Group, "group", "", "each of this `group`")
	flags.Func("reason", "each with this `reason`: failed, expired, or crashed", func(text string) error {
		for l.Reason = durable.Failed; l.Reason.String() != text; l.Reason++ {
			if l.Reason == durable.Crashed {
				return errors.New("expected: failed, expired, or crashed")
			}
		}
		return nil
	})
	flags.StringVar(&l.Error, "error", "", "each with this `text` in its error")
	flags.DurationVar(&l.older, "older", 0, "each that was given up this `time` ago or earlier")
	flags.BoolVar(&l.All, "all", false, "every dead letter")
	if flags.Name() == "requeue" {
		flags.Float64Var(&l.PerSecond, "per-second", 0, "the `number` of them that become due per second (default: all immediately)")
	}
}

// choose returns the operation on many dead letters if a flag selects them, and op otherwise.
func (l *letterFlags) choose(op operation, flags *flag.FlagSet, log io.Writer) (operation, error) {
	switch {
	case l.older < 0:
		return op, wrongUsage(log, op.name, "--older %v (expected: 0s or more)", l.older)
	case l.older > 0:
		l.Before = time.Now().Add(-l.older)
	}
	switch {
	case l.Letters == (durable.Letters{}) && flags.NArg() == 2:
		return op, nil
	case l.Letters == (durable.Letters{}) || flags.NArg() != 0:
		return op, wrongUsage(log, op.name, "%d arguments (expected: KEY and GENERATION, or one of --prefix, --group, --reason, --error, --older, and --all)", flags.NArg())
	}
	return operation{name: op.name, whole: true, do: func(ctx context.Context, s *place.Store, _ []string, p *printer) error {
		n, err := op.many(s.Store, ctx, l.Letters)
		return errors.Join(err, p.print(map[string]int{op.name: n}, "%s: %d\n", op.name, n))
	}}, nil
}

// printAll prints the intact ones, and returns the errors of the damaged ones.
func printAll[E any](all iter.Seq2[E, error], print func(E) error) error {
	var damaged []error
	for e, err := range all {
		if err != nil {
			damaged = append(damaged, err)
		} else if err := print(e); err != nil {
			return err
		}
	}
	return errors.Join(damaged...)
}

// prefix returns the optional argument.
func prefix(args []string) string { return strings.Join(args, "") }

func parseGeneration(text string) (uint64, error) {
	generation, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("generation %q (expected: a number, as dead lists it)", text)
	}
	return generation, nil
}

// parseTime reads a time in RFC 3339, or "+" and a duration from now.
func parseTime(text string, now time.Time) (time.Time, error) {
	if after, ok := strings.CutPrefix(text, "+"); ok {
		if d, err := time.ParseDuration(after); err == nil && d >= 0 {
			return now.Add(d), nil
		}
	} else if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("time %q (expected: such as +10m or 2026-01-02T15:04:05Z)", text)
}

// printer prints entries.
type printer struct {
	out  io.Writer
	json bool
}

// shown is an entry as printed in JSON.
type shown struct {
	Key        string            `json:"key"`
	KeyBytes   []byte            `json:"key_bytes,omitempty"` // of a key that is no UTF-8
	Due        time.Time         `json:"due"`
	NotAfter   *time.Time        `json:"not_after,omitempty"`
	Generation uint64            `json:"generation,string"`
	Attempt    int               `json:"attempt"`
	Every      string            `json:"every,omitempty"`
	Group      string            `json:"group,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	Payload    []byte            `json:"payload"`
	ID         string            `json:"id,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Error      string            `json:"error,omitempty"`
	GivenUp    *time.Time        `json:"given_up,omitempty"`
	LastRun    *shownRun         `json:"last_run,omitempty"`
}

// shownRun is the last run of a series as printed in JSON.
type shownRun struct {
	Due     time.Time `json:"due"`
	Began   time.Time `json:"began"`
	Took    string    `json:"took"`
	Attempt int       `json:"attempt"`
	Outcome string    `json:"outcome"`
	Error   string    `json:"error"`
}

func shownEntry(e durable.Entry) shown {
	s := shown{Key: e.Key, Due: e.Due, Generation: e.Generation, Attempt: e.Attempt,
		Every: e.Every.Spec + e.Every.Schedule, Group: e.Group, Headers: e.Headers, Payload: append([]byte{}, e.Payload...)} // no null
	if !utf8.ValidString(e.Key) {
		s.KeyBytes = []byte(e.Key)
	}
	if !e.NotAfter.IsZero() {
		s.NotAfter = &e.NotAfter
	}
	return s
}

func (p *printer) result(e durable.Entry, err error) error {
	if err != nil {
		return err
	}
	return p.entry(e, nil)
}

// print prints v in JSON, or the text.
func (p *printer) print(v any, format string, args ...any) error {
	if p.json {
		return p.encode(v)
	}
	_, err := fmt.Fprintf(p.out, format, args...)
	return err
}

// entry prints an entry, with the last run of a series unless it is nil.
func (p *printer) entry(e durable.Entry, last *durable.Run) error {
	s := shownEntry(e)
	var more string
	if every := e.Every.Spec + e.Every.Schedule; every != "" {
		more = strconv.Quote(every) + "  "
	}
	if e.Group != "" {
		more += "group " + strconv.Quote(e.Group) + "  "
	}
	var run string
	if last != nil {
		s.LastRun = &shownRun{last.Due, last.Began, last.Took.String(), last.Attempt, last.Outcome.String(), last.Error}
		run = fmt.Sprintf("  last run: due %s  took %v  attempt %d  %v  %q", last.Due.Format(time.RFC3339Nano), last.Took, last.Attempt, last.Outcome, last.Error)
	}
	return p.print(s, "%s  %q  generation %d  attempt %d  %s%d bytes%s\n",
		e.Due.Format(time.RFC3339Nano), e.Key, e.Generation, e.Attempt, more, len(e.Payload), run)
}

// encode prints JSON. It escapes control characters that package json leaves: U+007F to U+009F.
func (p *printer) encode(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var line strings.Builder
	for _, r := range string(text) {
		if unicode.IsControl(r) {
			fmt.Fprintf(&line, `\u%04x`, r)
		} else {
			line.WriteRune(r)
		}
	}
	_, err = fmt.Fprintln(p.out, line.String())
	return err
}

func (p *printer) dead(d durable.DeadLetter) error {
	s := shownEntry(d.Entry)
	s.ID, s.Reason, s.Error, s.GivenUp = d.ID, d.Reason.String(), d.Error, &d.GivenUp
	return p.print(s, "%s  %q  generation %d  attempts %d  %v  %q\n",
		d.GivenUp.Format(time.RFC3339), d.Key, d.Generation, d.Attempt, d.Reason, d.Error)
}

func (p *printer) stats(st durable.Stats) error {
	limit := "no limit"
	if st.Limit > 0 {
		limit = fmt.Sprintf("limit %d", st.Limit)
	}
	return p.print(map[string]any{"pending": st.Pending, "claimed": st.Claimed, "dead": st.Dead, "pauses": st.Pauses,
		"bytes": st.Bytes, "limit": st.Limit, "overdue": st.Overdue.String(), "clock_offset": st.ClockOffset.String(),
		"clock_error": st.ClockError.String()},
		"pending %d, claimed %d, dead %d, pauses %d, overdue by %v\n%d bytes, %s\ndatabase clock ahead by %v ± %v\n",
		st.Pending, st.Claimed, st.Dead, st.Pauses, st.Overdue, st.Bytes, limit, st.ClockOffset, st.ClockError)
}
