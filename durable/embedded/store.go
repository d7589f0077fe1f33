package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hashedwheel/hwt/durable"
)

// Store is a durable.Store and the server that keeps it.
type Store struct {
	*durable.Store
	server *server.Server
	conn   *nats.Conn
	lock   *os.File
	closed sync.Once
}

// Open starts a server on the directory dir, which is made if it does not exist,
// and opens the store in it. It returns when the store can be used: standalone
// after reading the directory, which takes seconds for a million timers, and in a
// cluster when a majority of the nodes is up.
func Open(ctx context.Context, dir string, options *Options) (*Store, error) {
	o, err := options.complete()
	if err != nil {
		return nil, err
	}
	so, err := serverOptions(dir, o)
	if err != nil {
		return nil, err
	}
	lock, err := openDirectory(dir, o.identity(), o.MustExist)
	if err != nil {
		return nil, err
	}
	s := &Store{lock: lock}
	if err := s.start(ctx, so, o); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) start(ctx context.Context, so *server.Options, o Options) error {
	var err error
	if s.server, err = startServer(ctx, so, o.Logger); err != nil {
		return err
	}
	connect := []nats.Option{nats.InProcessServer(s.server), nats.Name("hwt"), nats.MaxReconnects(-1)}
	if o.Token != "" {
		connect = append(connect, nats.Token(o.Token))
	}
	if s.conn, err = nats.Connect("", connect...); err != nil {
		return fmt.Errorf("embedded: connecting: %w", err)
	}
	js, err := jetstream.New(s.conn)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	if o.Cluster != nil && o.Store.Replicas == 0 {
		o.Store.Replicas = 3
	}
	for {
		s.Store, err = durable.Open(ctx, js, &o.Store)
		if err == nil || o.Cluster == nil || !startsUp(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("embedded: the cluster has no majority: %w", errors.Join(context.Cause(ctx), err))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// startsUp reports whether err may pass as the other nodes come up.
func startsUp(err error) bool {
	return !errors.Is(err, durable.ErrForeignStream) && !errors.Is(err, durable.ErrInvalid)
}

// URL returns the address at which other processes reach the server, or "" if it
// does not listen.
func (s *Store) URL() string {
	if s.server.Addr() == nil {
		return ""
	}
	return s.server.ClientURL()
}

// Conn returns the connection to the server, for other uses of NATS.
func (s *Store) Conn() *nats.Conn { return s.conn }

// Close closes the store, which waits until every Work has drained, and stops the
// server. No goroutine or file is left.
func (s *Store) Close() error {
	var err error
	s.closed.Do(func() {
		if s.Store != nil {
			err = s.Store.Close()
		}
		if s.conn != nil {
			s.conn.Close()
		}
		if s.server != nil {
			stopServer(s.server)
		}
		err = errors.Join(err, s.lock.Close())
	})
	return err
}
