package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/idle"
)

var connections = program{
	name: "connections", title: "Ten thousand idle connections", unit: "message",
	text: "Each TCP connection carries a message of 64 bytes a second, five seconds long, and would be closed after a " +
		"minute of silence. The CPU time includes the client and the kernel.",
	remark: "At this rate the reads decide, and CPU is no reason to choose. `idle` is for its other properties: one timeout " +
		"in place of a deadline for each read, writes that count, holds, an age limit.",
	sides: []side{
		{"no limit", func(scale int) sample {
			return runConnections(scale, func(c net.Conn) net.Conn { return c }, func(net.Conn) {})
		}, true},
		{"SetReadDeadline", func(scale int) sample {
			return runConnections(scale, func(c net.Conn) net.Conn { return c }, func(c net.Conn) {
				must(c.SetReadDeadline(time.Now().Add(silence)))
			})
		}, false},
		{"`idle`", func(scale int) sample {
			reaper, err := idle.NewReaper(newTimer(100*time.Millisecond), silence, nil)
			must(err)
			return runConnections(scale, reaper.Wrap, func(net.Conn) {})
		}, false},
	},
}

// runConnections has a server that wraps each connection, and calls before before
// each read. Its clients are another process, since both would have too many files.
func runConnections(scale int, wrap func(net.Conn) net.Conn, before func(net.Conn)) (s sample) {
	n := 10_000 / scale
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	executable, err := os.Executable()
	must(err)
	base := heapMB()
	clients := exec.Command(executable, fmt.Sprintf("--clients=%d", n), l.Addr().String())
	clients.Stderr = os.Stderr
	must(clients.Start())
	defer clients.Process.Kill()
	var received atomic.Int64
	for range n {
		c, err := l.Accept()
		must(err)
		go read(wrap(c), before, &received)
	}
	for received.Load() < int64(n) { // all have read once
		time.Sleep(10 * time.Millisecond)
	}
	s.HeapMB = heapMB() - base
	first := received.Load()
	total := cpuOf(1, func() { time.Sleep(2 * span) })
	s.CPU = total / float64(received.Load()-first)
	return s
}

func read(c net.Conn, before func(net.Conn), received *atomic.Int64) {
	buffer := make([]byte, 64)
	for {
		before(c)
		if _, err := c.Read(buffer); err != nil {
			return
		}
		received.Add(1)
	}
}

// runClients sends a message per second on each of n connections until it is killed.
func runClients(n int, address string) {
	defer func() { recover() }() // the server has gone
	conns := make([]net.Conn, n)
	for i := range conns {
		var err error
		conns[i], err = net.Dial("tcp", address)
		must(err)
	}
	message := make([]byte, 64)
	paced(n, time.Hour, func(i int) {
		_, err := conns[i%n].Write(message)
		must(err)
	})
}
