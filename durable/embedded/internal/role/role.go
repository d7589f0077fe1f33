// Package role has what the processes of the demo and of the tests do: keep a
// store, be a node of a cluster, or fire timers and write them into a ledger.
package role

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/embedded"
	"github.com/hashedwheel/hwt/durable/embedded/internal/proc"
)

// Config is what a process is to do.
type Config struct {
	Node   *Node
	Worker *Worker
}

// Node is the role of a process that keeps a store, alone or in a cluster.
type Node struct {
	Dir     string
	Listen  string
	MaxDisk int64
	Store   Store
	Cluster *embedded.Cluster
}

// Store is what of durable.Options the processes need.
type Store struct {
	Replicas, Shards int
	Lead             time.Duration
	Behind           time.Duration // how far the process's clock is set back
}

// Options returns the options of a store.
func (s Store) Options() durable.Options {
	o := durable.Options{Replicas: s.Replicas, Shards: s.Shards, Lead: s.Lead, Logger: Log()}
	if s.Behind != 0 {
		o.Now = func() time.Time { return time.Now().Add(-s.Behind) }
	}
	return o
}

// Worker is the role of a process that fires timers.
type Worker struct {
	URLs        []string
	Store       Store
	Ledger      string        // where firings are written
	Takes       time.Duration // how long a handler takes, before it writes
	Concurrency int
}

// environ is the variable that carries the role.
const environ = "HWT_DURABLE_ROLE"

// Environ returns the environment of a process with the role.
func (c Config) Environ() []string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // of plain data
	}
	return []string{environ + "=" + string(text)}
}

// Start runs this program again in the role, and waits until it is ready.
func (c Config) Start() (*proc.Process, string, error) {
	p, err := proc.Start(c.Environ())
	if err != nil {
		return nil, "", err
	}
	said, err := p.WaitReady(5 * time.Minute) // a store of ten million timers takes minutes on a busy machine
	if err != nil {
		p.Kill()
		return nil, "", err
	}
	return p, said, nil
}

// Asked reports whether this process was started in a role, does what the role
// asks for, and returns the exit status.
func Asked() (status int, asked bool) {
	text := os.Getenv(environ)
	if text == "" {
		return 0, false
	}
	if err := run(text); err != nil {
		fmt.Fprintln(os.Stderr, "hwtdurable:", err)
		return 1, true
	}
	return 0, true
}

func run(text string) error {
	var c Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := proc.UntilParentEnds()
	go func() {
		<-ended
		cancel()
	}()
	if c.Node != nil {
		return c.Node.run(ctx)
	}
	return c.Worker.run(ctx)
}

// Log returns a log of what is worse than a warning: what the processes live
// through here brings about many warnings.
func Log() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 1}))
}

func (n *Node) run(ctx context.Context) error {
	s, err := embedded.Open(ctx, n.Dir, &embedded.Options{
		Store: n.Store.Options(), Listen: n.Listen, MaxDisk: n.MaxDisk, Cluster: n.Cluster, Logger: Log(),
	})
	if err != nil {
		return err
	}
	proc.Ready(s.URL())
	<-ctx.Done()
	return s.Close()
}

func (w *Worker) run(ctx context.Context) error {
	ledger, err := os.OpenFile(w.Ledger, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer ledger.Close()
	s, conn, err := Connect(ctx, w.URLs, w.Store)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer s.Close()
	proc.Ready("")
	now := time.Now
	if o := w.Store.Options(); o.Now != nil {
		now = o.Now
	}
	return s.Work(ctx, func(ctx context.Context, f durable.Firing) error {
		select {
		case <-time.After(w.Takes):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		_, err := ledger.WriteString(EntryOf(f, now()).String())
		return err
	}, &durable.WorkOptions{Concurrency: w.Concurrency})
}

// Connect connects to a store in other processes. The connection is kept up for as
// long as it is not closed.
func Connect(ctx context.Context, urls []string, o Store) (*durable.Store, *nats.Conn, error) {
	conn, err := nats.Connect(strings.Join(urls, ","), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true),
		nats.ReconnectWait(100*time.Millisecond), nats.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond),
		nats.PingInterval(2*time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // the connection is cut on purpose
	if err != nil {
		return nil, nil, err
	}
	s, err := open(ctx, conn, o)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return s, conn, nil
}

// open opens the store, as soon as there is one.
func open(ctx context.Context, conn *nats.Conn, o Store) (*durable.Store, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	options := o.Options()
	for {
		s, err := durable.Open(ctx, js, &options)
		if err == nil {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(100 * time.Millisecond):
		}
	}
}
