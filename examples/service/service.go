package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/idle/idlehttp"
)

// service uses one timer for receipts and idle connections. A request's deadline is a
// context of package context: a handler that waits for Done gains nothing from a wheel.
type service struct {
	request, idle, receipt, grace time.Duration // from the flags

	take func(ctx context.Context, r *http.Request) error // takes an order
	mail func(ctx context.Context) error                  // mails a receipt

	timer    *hashedwheel.Timer
	requests atomic.Int64 // requests in progress
}

var errShutdown = errors.New("the server is shutting down")

// goroutines is an executor that starts a goroutine per task, because mailing blocks.
type goroutines struct{}

func (goroutines) Execute(task func()) error {
	go task()
	return nil
}

// run serves until ctx ends, and then shuts down. The error lists unfinished work.
func (s *service) run(ctx context.Context, listener net.Listener) error {
	var err error
	s.timer, err = hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond, Executor: goroutines{}})
	if err != nil {
		return err
	}
	defer s.timer.Stop()
	reaper, err := idle.New(s.timer, s.idle, nil)
	if err != nil {
		return err
	}
	defer reaper.Close()

	requests, end := context.WithCancelCause(context.Background())
	defer end(errShutdown)
	server := s.newServer()
	server.BaseContext = func(net.Listener) context.Context { return requests }
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(reaper.Listener(listener)) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return s.shutDown(server, reaper)
}

// newServer returns a server for HTTP/1.1 and HTTP/2 whose connections are not idle while a
// handler runs.
func (s *service) newServer() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/order", s.order)
	server := &http.Server{Handler: mux, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	idlehttp.HoldHandlers(server)
	return server
}

// order takes an order and schedules its receipt.
func (s *service) order(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	defer s.requests.Add(-1)
	ctx, cancel := context.WithTimeout(r.Context(), s.request)
	defer cancel()
	if err := s.take(ctx, r); err != nil {
		http.Error(w, err.Error(), http.StatusGatewayTimeout)
		return
	}
	if _, err := s.timer.NewTimeout(hwt.ContextTaskFunc(s.mailReceipt), s.receipt); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintf(w, "ordered by %s; the receipt follows\n", r.Proto)
}

// mailReceipt is a task of the timer. Its ctx ends when Shutdown stops waiting.
func (s *service) mailReceipt(ctx context.Context, _ hwt.Timeout) error {
	err := s.mail(ctx)
	if err == nil {
		log.Print("a receipt was mailed")
	}
	return err // The timer logs it.
}

// shutDown waits for requests, and then for tasks that have begun.
func (s *service) shutDown(server *http.Server, reaper *idle.Reaper) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.grace)
	defer cancel()
	var errs []error
	if err := server.Shutdown(ctx); err != nil {
		errs = append(errs, fmt.Errorf("%d requests did not finish: %w", s.requests.Load(), err))
	}
	reaper.Close()
	unprocessed, err := s.timer.Shutdown(ctx)
	if err != nil {
		errs = append(errs, fmt.Errorf("mails did not finish: %w", err))
	}
	for _, receipt := range unprocessed {
		log.Printf("a receipt was due in %v", time.Until(receipt.Deadline()).Round(time.Millisecond))
	}
	if len(unprocessed) > 0 {
		errs = append(errs, fmt.Errorf("%d receipts were not due", len(unprocessed)))
	}
	return errors.Join(errs...)
}
