// Package echo has a TCP server that echoes and closes idle connections, and many
// clients for it: some keep talking, some fall silent.
package echo

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/lateness"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/internal/cli"
)

// bufferSize is the size of the server's reads.
const bufferSize = 512

// acceptPause is the pause after a failed Accept, usually because too many files are open.
const acceptPause = 10 * time.Millisecond

// Server is an echo server. Create it with Listen, and run it with Serve.
type Server struct {
	listener  net.Listener
	reaper    *idle.Reaper
	idleAfter time.Duration
	onReaped  func(peer net.Addr, silent time.Duration) // may be nil
	served    chan struct{}                             // closed when Serve returns
	handlers  sync.WaitGroup
	lateness  lateness.Recorder // of the connections that were reaped
	open      atomic.Int64      // connections
	reaped    atomic.Int64
}

// Listen returns a server at address that closes connections that were silent for
// idleAfter, using timer. It calls onReaped, unless nil, for each of them.
func Listen(address string, timer hwt.Timer, idleAfter time.Duration,
	onReaped func(peer net.Addr, silent time.Duration)) (*Server, error) {
	reaper, err := idle.New(timer, idleAfter, &idle.Options{CloseAll: true})
	if err != nil {
		return nil, err
	}
	listener, err := cli.Listen(address)
	if err != nil {
		return nil, fmt.Errorf("--listen %q: %w", address, err)
	}
	return &Server{
		listener: reaper.Listener(listener), reaper: reaper, idleAfter: idleAfter,
		onReaped: onReaped, served: make(chan struct{}),
	}, nil
}

// Addr returns the address of the server.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve accepts connections until Close. Call it once.
func (s *Server) Serve() error {
	defer close(s.served)
	for {
		c, err := s.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			var ne net.Error
			if !errors.As(err, &ne) || ne.Timeout() {
				return fmt.Errorf("accepting a connection: %w", err)
			}
			time.Sleep(acceptPause)
			continue
		}
		s.open.Add(1)
		s.handlers.Go(func() {
			defer s.open.Add(-1)
			s.handle(c)
		})
	}
}

// Close ends Serve, which must have been called, and all connections. It may be called twice.
func (s *Server) Close() {
	s.listener.Close()
	<-s.served
	s.reaper.Close()
	s.handlers.Wait()
}

// handle echoes until the client or the reaper closes the connection.
func (s *Server) handle(c net.Conn) {
	defer c.Close()
	if err := echo(c); errors.Is(err, idle.ErrIdle) {
		silent := idle.WatchOf(c).Idle()
		s.lateness.Record(silent - s.idleAfter)
		s.reaped.Add(1)
		if s.onReaped != nil {
			s.onReaped(c.RemoteAddr(), silent)
		}
	}
}

func echo(c net.Conn) error {
	buffer := make([]byte, bufferSize)
	for watch := idle.WatchOf(c); ; {
		n, err := c.Read(buffer)
		if err := cmp.Or(err, watch.Err()); err != nil { // a message that the reaper did not see gets no echo
			return err
		}
		if _, err := c.Write(buffer[:n]); err != nil {
			return err
		}
	}
}
