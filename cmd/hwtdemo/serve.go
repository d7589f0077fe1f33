package main

import (
	"fmt"
	"io"
	"maps"
	"sync"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/inspect"
	"github.com/hashedwheel/hwt/internal/cli"
)

// pageServer is the flag --serve: the page of package inspect, while a command runs.
// Its methods are safe for concurrent use once the flags are parsed.
type pageServer struct {
	address string // "" if there is no page

	mu     sync.Mutex
	timers map[string]hwt.Timer // Guarded by mu.
}

// add adds the flag.
func (p *pageServer) add(cmd *command) {
	cmd.flags.Var(address{&p.address}, "serve",
		"show the timer in the browser, at an address such as 127.0.0.1:8080; port 0 means any free port, no host this machine only")
}

// show puts a timer on the page, in place of an earlier one of that name.
func (p *pageServer) show(name string, timer hwt.Timer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timers == nil {
		p.timers = make(map[string]hwt.Timer)
	}
	p.timers[name] = timer
}

// all returns the timers on the page.
func (p *pageServer) all() map[string]hwt.Timer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.timers)
}

// start serves the page, if the flag is set, until stop is called. It writes the page's
// address to out.
func (p *pageServer) start(out io.Writer) (stop func(), err error) {
	if p.address == "" {
		return func() {}, nil
	}
	listener, err := cli.Listen(p.address)
	if err != nil {
		return nil, fmt.Errorf("--serve %q: %w", p.address, err)
	}
	return cli.ServePage(listener, inspect.Handler(&inspect.Options{DynamicTimers: p.all}), out), nil
}
