package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/hashedwheel/hwt/bench/internal/harness"
)

var quicConnections = program{
	name: "quic", title: "500 QUIC connections", unit: "message",
	text: "The connections together carry 10,000 messages of 64 bytes per second for four seconds, each connection one per " +
		"50 ms on a stream. Clients and servers are one process with quic-go. With `dropin/time`, quic-go's imports of " +
		"package time are moved to it. The heap is that after a second, when all packets are acknowledged.",
	remark: "A connection resets its only timer whenever its goroutine wakes, several times per message: to an acknowledgement " +
		"or a retransmission after tens of milliseconds, or to the idle timeout of 30 seconds. Profiles of both sides show " +
		"system calls first, then selects, memory management, and encryption. Timers take a few percent, more with " +
		"`dropin/time` than with package time. With `dropin/time`, about half of it is Reset.",
	sides: []side{
		{"package time", runQUIC, false},
		{"`dropin/time`", runMovedQUIC, false},
	},
}

func runQUIC(scale int) (s sample) {
	n := max(1, 500/scale)
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	serve := &tls.Config{Certificates: web.TLS.Certificates, NextProtos: []string{"bench"}}
	dial := &tls.Config{InsecureSkipVerify: true, NextProtos: serve.NextProtos}
	base := heapMB()
	server, client := transport(), transport()
	defer server.Close()
	defer client.Close()
	l, err := server.Listen(serve, nil)
	must(err)
	ctx := context.Background()
	var received atomic.Int64 // bytes
	go func() {
		for {
			c, err := l.Accept(ctx)
			if err != nil {
				return // closed
			}
			go receive(ctx, c, &received)
		}
	}()
	streams, message := make([]*quic.SendStream, n), make([]byte, 64)
	for i := range streams {
		c, err := client.Dial(ctx, l.Addr(), dial, nil)
		must(err)
		streams[i], err = c.OpenUniStream()
		must(err)
	}
	var sent int64
	send := func(span time.Duration) {
		sent += int64(paced(20*n, span, func(i int) {
			_, err := streams[i%n].Write(message)
			must(err)
		}))
		for received.Load() < sent*int64(len(message)) {
			time.Sleep(time.Millisecond)
		}
	}
	send(span / 2)
	time.Sleep(100 * time.Millisecond)
	s.HeapMB = heapMB() - base
	before := sent
	total := cpuOf(1, func() { send(2 * span) })
	s.CPU = total / float64(sent-before)
	return s
}

func transport() *quic.Transport {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(err)
	return &quic.Transport{Conn: conn}
}

func receive(ctx context.Context, c *quic.Conn, received *atomic.Int64) {
	stream, err := c.AcceptUniStream(ctx)
	for buffer := make([]byte, 64); err == nil; {
		var n int
		n, err = stream.Read(buffer)
		received.Add(int64(n))
	}
}

// runMovedQUIC runs runQUIC in a build of this program whose quic-go has moved imports.
// A go.mod in a temporary folder replaces that module only.
func runMovedQUIC(scale int) sample {
	const module = "github.com/quic-go/quic-go"
	dir, err := os.MkdirTemp("", "quic")
	must(err)
	defer os.RemoveAll(dir)
	must(moveTime(dir, goCommand("list", "-m", "-f={{.Dir}}", module)))
	for name, more := range map[string]string{"go.mod": fmt.Sprintf("\nreplace %s => %q\n", module, dir), "go.sum": ""} {
		text, err := os.ReadFile(filepath.Join(goCommand("list", "-m", "-f={{.Dir}}"), name))
		must(err)
		must(os.WriteFile(filepath.Join(dir, "bench"+filepath.Ext(name)), append(text, more...), 0o600))
	}
	executable := filepath.Join(dir, "programs")
	goCommand("build", "-modfile="+filepath.Join(dir, "bench.mod"), "-o="+executable, "github.com/hashedwheel/hwt/bench/programs")
	s, err := harness.Sample[sample](context.Background(), executable, "-child=quic/package time", fmt.Sprintf("-quick=%t", scale > 1))
	must(err)
	return s
}

func goCommand(args ...string) string {
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(err)
	return strings.TrimSpace(string(out))
}

var importsTime = regexp.MustCompile(`(?m)^((?:import |\t)(?:time )?)"time"$`)

// moveTime copies the module in source to dir, except its tests, and moves its imports.
func moveTime(dir, source string) error {
	return fs.WalkDir(os.DirFS(source), ".", func(name string, entry fs.DirEntry, err error) error {
		copied := name == "go.mod" || strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
		if err != nil || !copied {
			return err
		}
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return err
		}
		name = filepath.Join(dir, name)
		moved := importsTime.ReplaceAll(text, []byte(`${1}"github.com/hashedwheel/hwt/dropin/time"`))
		return errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, moved, 0o600))
	})
}
