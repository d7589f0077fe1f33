package pgtest

import (
	"net"
	"sync"
	"time"
)

// Proxy is a TCP proxy in front of a server. Its connections can be cut, held, and delayed. Its
// methods are safe for concurrent use.
type Proxy struct {
	listener net.Listener
	tasks    sync.WaitGroup

	mu     sync.Mutex
	change chan struct{}             // closed and replaced when a field changes. Guarded by mu.
	target string                    // Guarded by mu.
	held   bool                      // Guarded by mu.
	delay  time.Duration             // of answers. Guarded by mu.
	lose   func(request []byte) bool // Guarded by mu.
	links  map[*link]struct{}        // Guarded by mu.
	closed bool                      // Guarded by mu.
	bytes  int64                     // held or delayed so far. Guarded by mu.
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	lost           bool // The next answer is discarded. Guarded by the proxy's mu.
}

func (l *link) close() {
	for _, c := range []net.Conn{l.client, l.server} {
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.SetLinger(0) // a reset, as from a machine that is gone
		}
		c.Close()
	}
}

// NewProxy starts a proxy on a free port of the loopback interface.
func NewProxy(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: target, change: make(chan struct{}), links: make(map[*link]struct{})}
	p.tasks.Go(p.accept)
	return p, nil
}

// Address returns the proxy's host and port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.tasks.Go(func() { p.connect(client) })
	}
}

func (p *Proxy) connect(client net.Conn) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.DialTimeout("tcp", target, 5*time.Second)
	if err != nil {
		client.Close()
		return
	}
	l := &link{client: client, server: server}
	p.mu.Lock()
	closed := p.closed || p.target != target
	if !closed {
		p.links[l] = struct{}{}
	}
	p.mu.Unlock()
	if closed {
		l.close()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.copy(l, server, client, false) })
	both.Go(func() { p.copy(l, client, server, true) })
	both.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// copy forwards one direction until either side ends.
func (p *Proxy) copy(l *link, to, from net.Conn, answers bool) {
	defer l.close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !p.pass(l, buffer[:n], answers) {
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass waits as long as the proxy holds or delays data, and reports whether to
// forward it.
func (p *Proxy) pass(l *link, data []byte, answers bool) bool {
	came := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	waited := false
	for {
		if _, open := p.links[l]; !open || answers && l.lost {
			return false
		}
		wait := time.Duration(-1) // until a change
		if !p.held {
			if wait = p.delay - time.Since(came); !answers || wait <= 0 {
				break
			}
		}
		if !waited {
			waited = true
			p.bytes += int64(len(data))
		}
		p.await(wait)
	}
	if !answers && p.lose != nil && p.lose(data) {
		l.lost = true
	}
	return true
}

// await releases mu until a field changes or d has passed; a negative d is endless.
func (p *Proxy) await(d time.Duration) {
	change := p.change
	p.mu.Unlock()
	defer p.mu.Lock()
	var after <-chan time.Time
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-change:
	case <-after:
	}
}

// set changes fields and wakes waiting connections.
func (p *Proxy) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.change)
	p.change = make(chan struct{})
}

// Hold stops all data until [Proxy.Release].
func (p *Proxy) Hold() { p.set(func() { p.held = true }) }

// Release forwards held data.
func (p *Proxy) Release() { p.set(func() { p.held = false }) }

// Delay forwards answers after d; 0 ends the delay.
func (p *Proxy) Delay(d time.Duration) { p.set(func() { p.delay = d }) }

// Waited returns the number of bytes that Hold and Delay have kept waiting so far.
func (p *Proxy) Waited() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

// Lose forwards a request for which f reports true, and cuts its connection when the
// answer arrives. nil ends that. f sees the data of one read.
func (p *Proxy) Lose(f func(request []byte) bool) { p.set(func() { p.lose = f }) }

// Retarget cuts all connections and forwards new ones to another server.
func (p *Proxy) Retarget(target string) {
	p.set(func() { p.target = target })
	p.Cut()
}

// Cut resets all connections and returns their number.
func (p *Proxy) Cut() (n int) {
	p.set(func() {
		n = len(p.links)
		for l := range p.links {
			delete(p.links, l)
			l.close()
		}
	})
	return n
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() error {
	p.set(func() { p.closed = true })
	err := p.listener.Close()
	p.Cut()
	p.tasks.Wait()
	return err
}
