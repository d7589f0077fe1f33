package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/embedded"
	"github.com/hashedwheel/hwt/durable/embedded/internal/role"
)

// operation is a command on a store.
type operation struct {
	name string
	args int
	do   func(ctx context.Context, s *durable.Store, args []string, p *printer) error
}

var (
	list = operation{"list", 0, func(ctx context.Context, s *durable.Store, _ []string, p *printer) error {
		for t, err := range s.All(ctx) {
			if err != nil {
				return err
			}
			if err := p.timer(t); err != nil {
				return err
			}
		}
		return nil
	}}
	get = operation{"get", 1, func(ctx context.Context, s *durable.Store, args []string, p *printer) error {
		return p.result(s.Get(ctx, args[0]))
	}}
	cancel = operation{"cancel", 1, func(ctx context.Context, s *durable.Store, args []string, p *printer) error {
		return p.result(s.Cancel(ctx, args[0]))
	}}
	move = operation{"move", 2, func(ctx context.Context, s *durable.Store, args []string, p *printer) error {
		due, err := parseTime(args[1], time.Now())
		if err != nil {
			return err
		}
		return p.result(s.Move(ctx, args[0], due))
	}}
	dead = operation{"dead", 0, func(ctx context.Context, s *durable.Store, _ []string, p *printer) error {
		for d, err := range s.Dead(ctx) {
			if err != nil {
				return err
			}
			if err := p.dead(d); err != nil {
				return err
			}
		}
		return nil
	}}
	requeue = operation{"requeue", 2, func(ctx context.Context, s *durable.Store, args []string, p *printer) error {
		gen, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil {
			return fmt.Errorf("generation %q (expected: a number, as dead lists it)", args[1])
		}
		return p.result(s.Requeue(ctx, args[0], gen))
	}}
	discard = operation{"discard", 2, func(ctx context.Context, s *durable.Store, args []string, _ *printer) error {
		gen, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil {
			return fmt.Errorf("generation %q (expected: a number, as dead lists it)", args[1])
		}
		return s.Discard(ctx, args[0], gen)
	}}
	stats = operation{"stats", 0, func(ctx context.Context, s *durable.Store, _ []string, p *printer) error {
		if err := s.Refresh(ctx); err != nil {
			return err
		}
		return p.stats(s.Stats())
	}}
)

// operate returns the function of a command on a store.
func operate(op operation) func(context.Context, []string, io.Writer, io.Writer) error {
	return func(ctx context.Context, args []string, out, log io.Writer) error {
		flags := flag.NewFlagSet(op.name, flag.ContinueOnError)
		flags.SetOutput(log)
		var where place
		flags.StringVar(&where.dir, "store", "", "the `directory` of a store that no process has open")
		flags.StringVar(&where.url, "nats", "", "the `URL` of the server of a store")
		flags.StringVar(&where.creds, "creds", "", "a credentials `file` for the server")
		flags.StringVar(&where.token, "token", "", "the server's token")
		flags.StringVar(&where.name, "name", durable.DefaultName, "the store's name")
		asJSON := flags.Bool("json", false, "print JSON, one object a line")
		if err := parse(flags, args, op.args, log); err != nil {
			return err
		}
		if (where.dir == "") == (where.url == "") {
			fmt.Fprintf(log, "hwtdurable %s: exactly one of --store and --nats is needed\n", op.name)
			return errUsage
		}
		s, closeStore, err := where.open(ctx)
		if err != nil {
			return err
		}
		defer closeStore()
		return op.do(ctx, s, flags.Args(), &printer{out, *asJSON})
	}
}

// place is where a store is.
type place struct{ dir, url, creds, token, name string }

// open opens a store that exists.
func (w place) open(ctx context.Context) (*durable.Store, func(), error) {
	o := durable.Options{Name: w.name, Logger: role.Log(), MustExist: true}
	if w.dir != "" {
		s, err := embedded.Open(ctx, w.dir, &embedded.Options{Store: o, Logger: role.Log(), MustExist: true})
		if err != nil {
			return nil, nil, err
		}
		return s.Store, func() { s.Close() }, nil
	}
	options := []nats.Option{nats.Name("hwtdurable"), nats.Timeout(5 * time.Second)}
	if w.creds != "" {
		options = append(options, nats.UserCredentials(w.creds))
	}
	if w.token != "" {
		options = append(options, nats.Token(w.token))
	}
	conn, err := nats.Connect(w.url, options...)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	s, err := durable.Open(ctx, js, &o)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return s, func() { s.Close(); conn.Close() }, nil
}

// parseTime reads a time: RFC 3339, or "+" and a duration from now.
func parseTime(text string, now time.Time) (time.Time, error) {
	if after, ok := strings.CutPrefix(text, "+"); ok {
		d, err := time.ParseDuration(after)
		if err != nil {
			return time.Time{}, fmt.Errorf("time %q (expected: such as +10m)", text)
		}
		return now.Add(d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %q (expected: such as +10m or 2026-01-02T15:04:05Z)", text)
	}
	return t, nil
}

// printer prints timers.
type printer struct {
	out  io.Writer
	json bool
}

// shown is a timer as it is printed as JSON.
type shown struct {
	Key        string     `json:"key"`
	Due        time.Time  `json:"due"`
	Generation uint64     `json:"generation,string"`
	Attempt    int        `json:"attempt"`
	Every      string     `json:"every,omitempty"`
	Payload    []byte     `json:"payload"`
	ID         string     `json:"id,omitempty"`
	Error      string     `json:"error,omitempty"`
	GivenUp    *time.Time `json:"given_up,omitempty"`
}

func shownTimer(t durable.Timer) shown {
	return shown{Key: t.Key, Due: t.Due, Generation: t.Generation, Attempt: t.Attempt,
		Every: t.Every.Spec + t.Every.Schedule, Payload: t.Payload}
}

func (p *printer) result(t durable.Timer, err error) error {
	if err != nil {
		return err
	}
	return p.timer(t)
}

func (p *printer) timer(t durable.Timer) error {
	if p.json {
		return json.NewEncoder(p.out).Encode(shownTimer(t))
	}
	_, err := fmt.Fprintf(p.out, "%s  %q  generation %d  attempt %d  %s%s%d bytes\n", t.Due.Format(time.RFC3339Nano),
		t.Key, t.Generation, t.Attempt, t.Every.Spec+t.Every.Schedule, gap(t.Every.Spec+t.Every.Schedule), len(t.Payload))
	return err
}

func gap(s string) string {
	if s == "" {
		return ""
	}
	return "  "
}

func (p *printer) dead(d durable.DeadTimer) error {
	if p.json {
		s := shownTimer(d.Timer)
		s.ID, s.Error, s.GivenUp = d.ID, d.Error, &d.GivenUp
		return json.NewEncoder(p.out).Encode(s)
	}
	_, err := fmt.Fprintf(p.out, "%s  %q  generation %d  attempts %d  %s\n", d.GivenUp.Format(time.RFC3339), d.Key,
		d.Generation, d.Attempt, strconv.Quote(d.Error))
	return err
}

func (p *printer) stats(st durable.Stats) error {
	if p.json {
		return json.NewEncoder(p.out).Encode(map[string]any{"pending": st.Pending, "leased": st.Leased, "dead": st.Dead,
			"bytes": st.Bytes, "limit": st.Limit, "clock_offset": st.ClockOffset.String(), "clock_error": st.ClockError.String()})
	}
	_, err := fmt.Fprintf(p.out, "pending %d, leased %d, dead %d\n%d bytes of %d (0: no limit)\nthe server's clock is ahead by %v, give or take %v\n",
		st.Pending, st.Leased, st.Dead, st.Bytes, st.Limit, st.ClockOffset, st.ClockError)
	return err
}
