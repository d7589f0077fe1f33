package echo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/cputime"
)

// Config says what to show.
type Config struct {
	Listen      string        // address of the server
	IdleAfter   time.Duration // silence after which it closes; positive
	Connections int           // how many clients; at least 1
	Talkers     float64       // percent of them that never fall silent, 0 to 100
	Talk        time.Duration // the others fall silent within this time
	Seed        uint64        // of who falls silent and when
}

const (
	dialers    = 32               // clients that dial at the same time
	perSource  = 20_000           // connections from one address of loopback: it has so many ports
	patience   = 30 * time.Second // beyond the latest time at which a silent client may be there
	awaitEvery = 5 * time.Millisecond
)

// Show is a server and its clients. Make it with New, use it once.
//
// Ground rules: the counters are atomic, written by clients and read by anybody;
// conns belongs to the dialers until they are done, one element each.
type Show struct {
	config  Config
	server  *Server
	clients []*client
	over    chan struct{} // closed when the clients are to go
	all     sync.WaitGroup
	report  Report

	opened, silent, said      atomic.Int64
	gone, goneTalkers, early  atomic.Int64 // closed by the server: silent clients, talkers, either too early
	start, latestSilence, end time.Time    // Written by Run alone.
}

// New returns a show whose server uses timer. The server listens already.
func New(c Config, timer hwt.Timer) (*Show, error) {
	server, err := Listen(c.Listen, timer, c.IdleAfter, nil)
	if err != nil {
		return nil, err
	}
	return &Show{config: c, server: server, over: make(chan struct{})}, nil
}

// Progress is how far a show is.
type Progress struct {
	Opened, Open, Silent, Reaped int64
	P50, P99, Max                time.Duration // lateness
}

// Progress may be called at any time, from anywhere.
func (s *Show) Progress() Progress {
	late := s.server.lateness.Summary()
	return Progress{
		Opened: s.opened.Load(), Open: s.server.open.Load(), Silent: s.silent.Load(),
		Reaped: s.server.reaped.Load(), P50: late.P50, P99: late.P99, Max: late.Max,
	}
}

// Run opens the connections, waits until every client that fell silent was
// closed, or ctx ends, and closes the rest. It blocks for that time.
func (s *Show) Run(ctx context.Context) (*Report, error) {
	cpu, _ := cputime.Now()
	s.start = time.Now()
	served := make(chan error, 1)
	go func() { served <- s.server.Serve() }()
	err := s.open(ctx)
	if err == nil {
		s.await(ctx)
	}
	s.end = time.Now()
	s.report.Left = s.silent.Load() - s.gone.Load()
	s.report.Interrupted = ctx.Err() != nil
	s.finish()
	err = errors.Join(err, <-served)
	s.fillReport(cpu)
	return &s.report, err
}

// finish closes everything.
func (s *Show) finish() {
	close(s.over)
	for _, c := range s.clients {
		if c != nil {
			c.conn.Close()
		}
	}
	s.all.Wait()
	s.server.Close()
}

// open dials all clients and lets them live.
func (s *Show) open(ctx context.Context) error {
	s.clients = make([]*client, s.config.Connections)
	faults := make([]error, dialers)
	var wg sync.WaitGroup
	for d := range dialers {
		wg.Go(func() {
			for i := d; i < len(s.clients) && faults[d] == nil && ctx.Err() == nil; i += dialers {
				faults[d] = s.dial(i)
			}
		})
	}
	wg.Wait()
	s.latestSilence = time.Now().Add(s.config.Talk)
	return errors.Join(faults...)
}

// dial opens the connection of client i.
func (s *Show) dial(i int) error {
	before := time.Now()
	conn, err := s.dialer(i).Dial("tcp", s.server.Addr().String())
	if err != nil {
		return fmt.Errorf("connection %d: %w", i+1, err)
	}
	c := &client{
		conn: conn, idleAfter: s.config.IdleAfter, silentAfter: -1, said: &s.said, lastHeard: before,
		random: rand.New(rand.NewPCG(s.config.Seed, uint64(i))),
	}
	talks := c.random.Float64()*100 < s.config.Talkers
	if !talks {
		c.silentAfter = time.Duration(c.random.Int64N(int64(s.config.Talk) + 1))
		s.silent.Add(1)
	}
	s.clients[i] = c
	s.opened.Add(1)
	s.all.Go(func() { s.count(c.live(s.over), talks) })
	return nil
}

// dialer returns what dials for client i: on loopback from one address after
// another, since each has ports for so many connections only.
func (s *Show) dialer(i int) *net.Dialer {
	at, ok := s.server.Addr().(*net.TCPAddr)
	if !ok || i < perSource || at.IP.To4() == nil || !at.IP.IsLoopback() {
		return &net.Dialer{}
	}
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+i/perSource))}}
}

func (s *Show) count(o outcome, talks bool) {
	if o == closedByUs {
		return
	}
	if o == closedEarly {
		s.early.Add(1)
	}
	if talks {
		s.goneTalkers.Add(1)
	} else {
		s.gone.Add(1)
	}
}

// await waits until all silent clients are closed. A server that forgets one
// must not hold the command for ever.
func (s *Show) await(ctx context.Context) {
	look := time.NewTicker(awaitEvery)
	defer look.Stop()
	latest := s.latestSilence.Add(s.config.IdleAfter + patience)
	for s.gone.Load() < s.silent.Load() || time.Now().Before(s.latestSilence) {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if time.Now().After(latest) {
			return
		}
	}
}
