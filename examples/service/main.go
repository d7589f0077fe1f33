// Service is an HTTP server that takes orders and later mails a receipt for each.
//
//	go run ./service
//	curl 'localhost:8080/order?takes=100ms'
//	curl 'localhost:8080/order?takes=1m'                           # past its deadline
//	curl --http2-prior-knowledge localhost:8080/order
//
// Each request has a deadline, and idle connections are closed. After Ctrl-C or SIGTERM,
// requests and mails in progress may finish within -grace. The program then reports
// unfinished work and the receipts that were not due.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	var s service
	addr := flag.String("addr", "localhost:8080", "address to listen on")
	flag.DurationVar(&s.request, "request", 2*time.Second, "deadline of a request")
	flag.DurationVar(&s.idle, "idle", time.Minute, "an idle connection is closed after this time")
	flag.DurationVar(&s.receipt, "receipt", 10*time.Second, "time from an order to its receipt")
	mail := flag.Duration("mail", 300*time.Millisecond, "duration of mailing")
	flag.DurationVar(&s.grace, "grace", 5*time.Second, "time to finish after Ctrl-C or SIGTERM")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument: %s", flag.Arg(0))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on %v", listener.Addr())
	s.take = func(ctx context.Context, r *http.Request) error {
		takes, _ := time.ParseDuration(r.FormValue("takes")) // 0 by default
		return work(ctx, takes)
	}
	s.mail = func(ctx context.Context) error { return work(ctx, *mail) }
	if err := s.run(ctx, listener); err != nil {
		log.Fatal(err)
	}
}

// work stands for a database or a mail server.
func work(ctx context.Context, takes time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(takes):
		return nil
	}
}
