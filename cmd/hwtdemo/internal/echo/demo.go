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
	"github.com/hashedwheel/hwt/internal/cli"
)

// Config is the size of a demonstration.
type Config struct {
	Listen      string        // address of the server
	IdleAfter   time.Duration // silence after which the server closes; positive
	Connections int           // clients; at least 1
	Talkers     float64       // percent of them that never fall silent, 0 to 100
	Talk        time.Duration // the others fall silent within this time
	Seed        uint64        // of which clients fall silent, and when
}

const (
	dialers    = 32               // clients that dial at the same time
	perSource  = 20_000           // connections from one loopback address, whose ports are limited
	patience   = 30 * time.Second // beyond the latest time at which a silent connection may be open
	awaitEvery = 5 * time.Millisecond
)

// Demo is a server and its clients. Create it with New, and run it once.
//
// Ground rules: the counters are atomic, written by clients and read by all. Each
// element of clients is written by one dialer, and read when all have finished.
type Demo struct {
	config  Config
	server  *Server
	clients []*client
	over    chan struct{} // closed when the clients are to end
	running sync.WaitGroup
	report  Report

	opened, silent, echoed    atomic.Int64
	gone, goneTalkers, early  atomic.Int64 // closed by the server: silent clients, talkers, either too early
	start, latestSilence, end time.Time    // Run only.
}

// New returns a demonstration whose server uses timer. The server listens already.
func New(c Config, timer hwt.Timer) (*Demo, error) {
	server, err := Listen(c.Listen, timer, c.IdleAfter, nil)
	if err != nil {
		return nil, err
	}
	return &Demo{config: c, server: server, over: make(chan struct{})}, nil
}

// Progress is the state of a demonstration that runs.
type Progress struct {
	Open, Silent, Reaped int64
	P50, P99, Max        time.Duration // lateness
}

// Progress is safe for concurrent use.
func (d *Demo) Progress() Progress {
	late := d.server.lateness.Summary()
	return Progress{
		Open: d.server.open.Load(), Silent: d.silent.Load(),
		Reaped: d.server.reaped.Load(), P50: late.P50, P99: late.P99, Max: late.Max,
	}
}

// Run opens the connections, waits until the server has closed every client that
// fell silent, or ctx ends, and closes the rest.
func (d *Demo) Run(ctx context.Context) (*Report, error) {
	cpu, _ := cli.CPUNow()
	d.start = time.Now()
	served := make(chan error, 1)
	go func() { served <- d.server.Serve() }()
	err := d.open(ctx)
	if err == nil {
		d.await(ctx)
	}
	d.end = time.Now()
	d.report.Left = d.silent.Load() - d.gone.Load()
	d.report.Interrupted = ctx.Err() != nil
	d.finish()
	err = errors.Join(err, <-served)
	d.fillReport(cpu)
	return &d.report, err
}

// open dials and starts all clients.
func (d *Demo) open(ctx context.Context) error {
	d.clients = make([]*client, d.config.Connections)
	faults := make([]error, dialers)
	var wg sync.WaitGroup
	for first := range dialers {
		wg.Go(func() {
			for i := first; i < len(d.clients) && faults[first] == nil && ctx.Err() == nil; i += dialers {
				faults[first] = d.dial(i)
			}
		})
	}
	wg.Wait()
	d.latestSilence = time.Now().Add(d.config.Talk)
	return errors.Join(faults...)
}

// dial opens the connection of client i.
func (d *Demo) dial(i int) error {
	before := time.Now()
	conn, err := d.dialer(i).Dial("tcp", d.server.Addr().String())
	if err != nil {
		return fmt.Errorf("connection %d: %w", i+1, err)
	}
	c := &client{
		conn: conn, idleAfter: d.config.IdleAfter, silentAfter: -1, echoed: &d.echoed, latest: before,
		random: rand.New(rand.NewPCG(d.config.Seed, uint64(i))),
	}
	talks := c.random.Float64()*100 < d.config.Talkers
	if !talks {
		c.silentAfter = time.Duration(c.random.Int64N(int64(d.config.Talk) + 1))
		d.silent.Add(1)
	}
	d.clients[i] = c
	d.opened.Add(1)
	d.running.Go(func() { d.count(c.run(d.over), talks) })
	return nil
}

// dialer returns the dialer for client i. On loopback it uses one source address after
// another, because the ports of each are limited.
func (d *Demo) dialer(i int) *net.Dialer {
	at, ok := d.server.Addr().(*net.TCPAddr)
	if !ok || i < perSource || at.IP.To4() == nil || !at.IP.IsLoopback() {
		return &net.Dialer{}
	}
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+i/perSource))}}
}

func (d *Demo) count(o outcome, talks bool) {
	if o == closedByUs {
		return
	}
	if o == closedEarly {
		d.early.Add(1)
	}
	if talks {
		d.goneTalkers.Add(1)
	} else {
		d.gone.Add(1)
	}
}

// await waits until the server has closed all silent clients, or patience is over.
func (d *Demo) await(ctx context.Context) {
	look := time.NewTicker(awaitEvery)
	defer look.Stop()
	latest := d.latestSilence.Add(d.config.IdleAfter + patience)
	for d.gone.Load() < d.silent.Load() || time.Now().Before(d.latestSilence) {
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

// finish closes everything.
func (d *Demo) finish() {
	close(d.over)
	for _, c := range d.clients {
		if c != nil {
			c.conn.Close()
		}
	}
	d.running.Wait()
	d.server.Close()
}
