// Webhooks posts messages to a server that sometimes fails, and retries each message
// until it has arrived.
//
//	go run ./webhooks http://localhost:8081/hook
//
// Ctrl-C ends it: posts in progress finish, and the unsent messages are counted.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
)

const messages, concurrent, attempts = 1000, 64, 10

var pauses = hwt.Backoff{Base: 200 * time.Millisecond, Max: 10 * time.Second}

func main() {
	if len(os.Args) != 2 || !strings.HasPrefix(os.Args[1], "http") {
		log.Fatal("usage: webhooks URL, such as http://localhost:8081/hook")
	}
	log.Printf("posting %d messages to %s", messages, os.Args[1])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	// The timeout is for a server that hangs.
	s := &sender{url: os.Args[1], client: http.Client{Timeout: 5 * time.Second}, done: stop}
	if err := s.sendAll(ctx, messages); err != nil {
		log.Fatal(err)
	}
	log.Println(s.delivered.Load(), "delivered,", s.abandoned.Load(), "abandoned,", s.open.Load(), "unsent")
}

type sender struct {
	url                        string
	client                     http.Client
	timer                      *hashedwheel.Timer
	done                       func() // called when open becomes zero
	open, delivered, abandoned atomic.Int64
}

// sendAll posts n messages. The messages that are waiting when ctx ends stay open.
func (s *sender) sendAll(ctx context.Context, n int) error {
	pool, _ := hwt.NewPool(concurrent, n) // fails only for numbers out of range; n messages never fill it
	var err error
	if s.timer, err = hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond, Executor: pool}); err != nil {
		return err
	}
	s.open.Store(int64(n))
	for range n {
		_, _ = s.timer.AfterFunc(0, func() { s.post(1) })
	}
	<-ctx.Done()
	_, err = s.timer.Shutdown(context.Background()) // waits for posts, which the client bounds
	return err
}

func (s *sender) post(attempt int) {
	count := &s.abandoned
	response, err := s.client.Post(s.url, "", nil)
	if err == nil && response.Body.Close() == nil && response.StatusCode < 300 {
		count = &s.delivered
	}
	if count == &s.abandoned && attempt < attempts {
		_, _ = s.timer.AfterFunc(pauses.Delay(attempt), func() { s.post(attempt + 1) }) // fails after Shutdown: the message stays open
	} else if count.Add(1); s.open.Add(-1) == 0 {
		s.done()
	}
}
