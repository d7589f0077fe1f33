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
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/idle/idlehttp"
)

// service has one timer for all its timeouts.
type service struct {
	request, idle, receipt, grace time.Duration // as the flags say

	take func(ctx context.Context, r *http.Request) error // takes an order
	mail func(ctx context.Context) error                  // mails a receipt

	timer    *hashedwheel.Timer
	clock    *clock.Clock
	requests atomic.Int64 // that run
}

// goroutines is an executor that runs each task on a goroutine of its own, since
// mailing takes its time.
type goroutines struct{}

func (goroutines) Execute(task func()) error {
	go task()
	return nil
}

// run serves until ctx ends, and then shuts down. It returns an error that says what
// did not finish.
func (s *service) run(ctx context.Context, listener net.Listener) error {
	var err error
	s.timer, err = hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond, Executor: goroutines{}})
	if err != nil {
		return err
	}
	defer s.timer.Stop()
	if s.clock, err = clock.New(s.timer, nil); err != nil {
		return err
	}
	reaper, err := idle.NewReaper(s.timer, s.idle, nil)
	if err != nil {
		return err
	}
	defer reaper.Close()

	server := s.newServer()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(reaper.Listener(listener)) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return s.shutDown(server, reaper)
}

// newServer returns a server of HTTP/1.1 and HTTP/2, which holds a connection while
// it works for it.
func (s *service) newServer() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/order", s.order)
	server := &http.Server{Handler: mux, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	idlehttp.HoldHandlers(server)
	return server
}

// order serves a request.
func (s *service) order(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	defer s.requests.Add(-1)
	ctx, cancel := s.clock.WithTimeout(r.Context(), s.request)
	defer cancel()
	if err := s.take(ctx, r); err != nil {
		http.Error(w, err.Error(), http.StatusGatewayTimeout)
		return
	}
	if _, err := s.timer.NewTimeout(hwt.ContextTask(s.mailReceipt), s.receipt); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintf(w, "ordered by %s; the receipt follows\n", r.Proto)
}

// mailReceipt is a task of the timer. Its ctx ends when a shutdown no longer waits.
func (s *service) mailReceipt(ctx context.Context, _ hwt.Timeout) error {
	err := s.mail(ctx)
	if err == nil {
		log.Print("a receipt was mailed")
	}
	return err // The timer logs it.
}

// shutDown lets the requests finish, and then the tasks that have begun.
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
	receipts := s.clock.End(unprocessed) // Ends the contexts of requests.
	for _, receipt := range receipts {
		log.Printf("a receipt was due in %v", time.Until(receipt.Deadline()).Round(time.Millisecond))
	}
	if len(receipts) > 0 {
		errs = append(errs, fmt.Errorf("%d receipts were not due", len(receipts)))
	}
	return errors.Join(errs...)
}
