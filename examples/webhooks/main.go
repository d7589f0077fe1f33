// Webhooks posts messages to servers that sometimes fail, and retries until each
// message has arrived.
//
//	go run ./webhooks             # to its own server, which fails every third time
//	go run ./webhooks -messages 10000 http://localhost:8081/hook http://localhost:8082/hook
//
// Ctrl-C ends it: posts in progress may finish, and the unsent messages are counted.
package main

import (
	"context"
	"expvar"
	"flag"
	"log"
	"math/rand/v2"
	"net/http"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/alitto/pond/v2"
	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/hashedwheel"
)

const attempts, firstDelay, lastDelay, grace = 10, 100 * time.Millisecond, 10 * time.Second, 5 * time.Second

func main() {
	n := flag.Int("messages", 1000, "number of messages; the URLs after the flags receive them in turn")
	flag.Parse()
	if *n < 1 {
		log.Fatalf("-messages: %d (expected: at least 1)", *n)
	}
	http.HandleFunc("/hook", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader([]int{200, 200, 503}[rand.N(3)]) })
	go func() { log.Fatal(http.ListenAndServe("localhost:8080", nil)) }() // with the metrics at /debug/vars
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s := &sender{metrics: expvar.NewMap("webhooks"), done: stop}
	s.client.Timeout = 5 * time.Second // a receiver that hangs must not hold a sender forever
	s.urls = append(flag.Args(), "http://localhost:8080/hook")[:max(1, flag.NArg())]
	err := s.sendAll(ctx, *n, 64)
	log.Printf("%v; %d unsent", s.metrics, s.open.Load())
	if err != nil {
		log.Fatal(err)
	}
}

type sender struct {
	urls    []string
	client  http.Client
	metrics *expvar.Map
	timer   *hashedwheel.Timer
	open    atomic.Int64       // messages that are neither delivered nor abandoned
	done    context.CancelFunc // called when open becomes zero
}

// pool runs the posts: a timer's executor.
type pool struct{ pond.Pool }

func (p pool) Execute(task func()) error { return p.Go(task) }

// sendAll posts n messages with the given number of concurrent posts. The messages that
// are waiting when ctx ends stay open.
func (s *sender) sendAll(ctx context.Context, n, concurrent int) (err error) {
	options := &hashedwheel.Options{TickDuration: 10 * time.Millisecond, Executor: pool{pond.NewPool(concurrent)}}
	if s.timer, err = hashedwheel.New(options); err != nil {
		return err
	}
	s.open.Store(int64(n))
	for id := range n {
		s.schedule(id, 0)
	}
	<-ctx.Done()
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	_, err = s.timer.Shutdown(limit) // ends the contexts of the posts that remain after grace
	return err
}

// schedule posts a message after a random delay, which doubles with each failure.
func (s *sender) schedule(id, failed int) {
	task := hwt.ContextTaskFunc(func(ctx context.Context, _ hwt.Timeout) error { s.post(ctx, id, failed); return nil })
	_, _ = s.timer.NewTimeout(task, rand.N(min(firstDelay<<failed, lastDelay))) // fails after Shutdown: the message stays open
}

// post attempts to deliver a message once.
func (s *sender) post(ctx context.Context, id, failed int) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.urls[id%len(s.urls)], http.NoBody)
	var response *http.Response
	if err == nil {
		if response, err = s.client.Do(request); err == nil {
			response.Body.Close()
		}
	}
	switch failed++; {
	case err == nil && response.StatusCode < 300:
		s.end("delivered")
	case failed == attempts:
		s.end("abandoned")
	default:
		s.metrics.Add("failed", 1)
		s.schedule(id, failed)
	}
}

func (s *sender) end(how string) {
	s.metrics.Add(how, 1)
	if s.open.Add(-1) == 0 {
		s.done()
	}
}
