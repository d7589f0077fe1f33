// Package echo is a TCP server that sends back what it gets and closes who is
// silent, and a swarm of clients that shows it: some go on talking, some fall
// silent.
package echo

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/lateness"
	"github.com/hashedwheel/hwt/idle"
)

// bufferSize is what a connection reads at a time.
const bufferSize = 512

// acceptPause is how long the server waits after an Accept that failed, usually
// for want of files.
const acceptPause = 10 * time.Millisecond

// Server echoes. Make it with Listen, and run it with Serve.
type Server struct {
	listener  net.Listener
	reaper    *idle.Reaper
	idleAfter time.Duration
	onReaped  func(peer net.Addr, silent time.Duration) // may be nil
	served    chan struct{}                             // closed when Serve returns
	handlers  sync.WaitGroup
	lateness  *lateness.Recorder // of those reaped
	open      atomic.Int64       // connections
	reaped    atomic.Int64
}

// Listen returns a server on address that closes who is silent for idleAfter,
// by timer. onReaped, if it is not nil, is told of each.
func Listen(address string, timer hwt.Timer, idleAfter time.Duration,
	onReaped func(peer net.Addr, silent time.Duration)) (*Server, error) {
	reaper, err := idle.NewReaper(timer, idleAfter, idle.WithCloseAll())
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &Server{
		listener: reaper.Listener(listener), reaper: reaper, idleAfter: idleAfter,
		onReaped: onReaped, served: make(chan struct{}), lateness: lateness.NewRecorder(),
	}, nil
}

// Addr returns where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve accepts connections until Close. It is to be called once.
func (s *Server) Serve() error {
	defer close(s.served)
	for {
		c, err := s.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			if ne, ok := errors.AsType[net.Error](err); !ok || ne.Timeout() {
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

// Close ends Serve, which must have been called, closes all connections, and
// waits for their handlers. It may be called twice.
func (s *Server) Close() {
	s.listener.Close()
	<-s.served
	s.reaper.Close()
	s.handlers.Wait()
}

// handle echoes until the peer ends it, or the reaper does.
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
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return err
		}
		if _, err := c.Write(buffer[:n]); err != nil {
			return err
		}
	}
}
