// Webhooks is examples/webhooks with asynq. It needs Redis at localhost:6379, and
// keeps unsent messages there. The queue must be empty at the start.
package main

import (
	"context"
	"errors"
	"expvar"
	"flag"
	"log"
	"math/rand/v2"
	"net/http"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hibiken/asynq"
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
	urls := append(flag.Args(), "http://localhost:8080/hook")[:max(1, flag.NArg())]
	redis := asynq.RedisClientOpt{Addr: "localhost:6379"}
	queue := asynq.NewClient(redis)
	defer queue.Close()
	for id := range *n {
		task := asynq.NewTask("post", []byte(urls[id%len(urls)]), asynq.MaxRetry(attempts-1))
		if _, err := queue.Enqueue(task); err != nil {
			log.Fatal(err)
		}
	}
	s := &sender{metrics: expvar.NewMap("webhooks"), done: stop}
	s.client.Timeout = 5 * time.Second // a receiver that hangs must not hold a sender forever
	s.open.Store(int64(*n))
	server := asynq.NewServer(redis, asynq.Config{
		Concurrency:     64,
		ShutdownTimeout: grace,
		RetryDelayFunc: func(failed int, _ error, _ *asynq.Task) time.Duration {
			return rand.N(min(firstDelay<<failed, lastDelay))
		},
		DelayedTaskCheckInterval: firstDelay,
	})
	if err := server.Start(asynq.HandlerFunc(s.post)); err != nil {
		log.Fatal(err)
	}
	<-ctx.Done()
	server.Shutdown()
	log.Printf("%v; %d unsent", s.metrics, s.open.Load())
}

type sender struct {
	client  http.Client
	metrics *expvar.Map
	open    atomic.Int64       // messages that are neither delivered nor abandoned
	done    context.CancelFunc // called when open becomes zero
}

// post attempts to deliver a message once.
func (s *sender) post(ctx context.Context, task *asynq.Task) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, string(task.Payload()), http.NoBody)
	var response *http.Response
	if err == nil {
		response, err = s.client.Do(request)
	}
	if err == nil {
		response.Body.Close()
		if response.StatusCode >= 300 {
			err = errors.New(response.Status)
		}
	}
	failed, _ := asynq.GetRetryCount(ctx)
	switch {
	case err == nil:
		s.end("delivered")
	case failed == attempts-1:
		s.end("abandoned")
	default:
		s.metrics.Add("failed", 1)
	}
	return err
}

func (s *sender) end(how string) {
	s.metrics.Add(how, 1)
	if s.open.Add(-1) == 0 {
		s.done()
	}
}
