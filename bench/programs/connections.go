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
	text: "Each TCP connection carries a message of 64 bytes per second for five seconds. It would be closed after a " +
		"minute of silence. The CPU time includes the client and the kernel.",
	remark: "At this rate most of the time goes to the reads, and CPU is no reason to choose. Use `idle` for its other properties: " +
		"writes count as activity, a busy handler can hold its connection, and connections have a maximum age.",
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
			reaper, err := idle.New(newTimer(100*time.Millisecond), silence, nil)
			must(err)
			return runConnections(scale, reaper.Wrap, func(net.Conn) {})
		}, false},
	},
}

// runConnections runs a server that wraps each connection, and calls before before
// each read.
func runConnections(scale int, wrap func(net.Conn) net.Conn, before func(net.Conn)) (s sample) {
	n := 10_000 / scale
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	base := heapMB()
	kill := startClients(n, l.Addr().String())
	defer kill()
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

// startClients starts a process with n clients of the server at address. One process
// for both would need too many files.
func startClients(n int, address string) (kill func()) {
	executable, err := os.Executable()
	must(err)
	clients := exec.Command(executable, fmt.Sprintf("-clients=%d", n), address)
	clients.Stderr = os.Stderr
	must(clients.Start())
	var killed atomic.Bool
	go func() {
		if err := clients.Wait(); !killed.Load() {
			panic(fmt.Sprintf("the clients ended before the measurement: %v", err))
		}
	}()
	return func() {
		killed.Store(true)
		clients.Process.Kill()
	}
}

// runClients sends n messages per second, evenly on n connections, until it is killed.
func runClients(n int, address string) {
	conns, message := make([]net.Conn, n), make([]byte, 64)
	for i := range conns {
		var err error
		conns[i], err = net.Dial("tcp", address)
		must(err)
	}
	paced(n, time.Hour, func(i int) {
		if _, err := conns[i%n].Write(message); err != nil {
			os.Exit(0) // the server is gone
		}
	})
}
