// Tcp is an echo server that closes idle connections, and every connection at a maximum
// age.
//
//	go run ./tcp -idle 10s -age 1m
//	nc localhost 7777
//
// After Ctrl-C or SIGTERM it accepts no more connections and closes the open ones.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/idle"
)

func main() {
	addr := flag.String("addr", "localhost:7777", "address to listen on")
	timeout := flag.Duration("idle", time.Minute, "a connection is closed after this time without a byte")
	age := flag.Duration("age", time.Hour, "a connection is closed at this age")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument: %s", flag.Arg(0))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on %v", listener.Addr())
	report := func(e idle.Event) { log.Printf("closing a connection: %v", e.Reason) }
	if err := serve(ctx, listener, *timeout, *age, report); err != nil {
		log.Fatal(err)
	}
}

// serve echoes until ctx ends.
func serve(ctx context.Context, listener net.Listener, timeout, age time.Duration, report func(idle.Event)) error {
	timer, err := hashedwheel.New(nil)
	if err != nil {
		return err
	}
	defer timer.Stop()
	reaper, err := idle.New(timer, timeout, &idle.Options{MaxAge: age, CloseAll: true, OnExpire: report})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { listener.Close(); reaper.Close() })
	var connections sync.WaitGroup
	defer connections.Wait()
	for listener := reaper.Listener(listener); ; {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		} else if err != nil { // usually too many open files
			log.Printf("accepting a connection: %v", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		connections.Go(func() {
			defer conn.Close()
			_, _ = io.Copy(conn, conn) // Each byte in either direction is activity.
		})
	}
}
