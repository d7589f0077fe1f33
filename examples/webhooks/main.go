// Webhooks posts messages to servers that fail now and then, until they have arrived.
//
//	go run ./webhooks             # to a server of its own, which fails every third time
//	go run ./webhooks -messages 10000 http://localhost:8081/hook http://localhost:8082/hook
package main

import (
	"expvar"
	"flag"
	"log"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/alitto/pond/v2"
	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/keyed"
)

const attempts, firstDelay, lastDelay = 10, 100 * time.Millisecond, 10 * time.Second

func main() {
	n := flag.Int("messages", 1000, "number of messages, which go to the URLs after the flags in turn")
	flag.Parse()
	http.HandleFunc("/hook", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader([]int{200, 200, 503}[rand.N(3)]) })
	go func() { log.Fatal(http.ListenAndServe("localhost:8080", nil)) }() // with the metrics, at /debug/vars
	s := &sender{urls: append(flag.Args(), "http://localhost:8080/hook")[:max(1, flag.NArg())], metrics: expvar.NewMap("webhooks")}
	err := s.sendAll(*n, 64, 8)
	log.Println(s.metrics, err)
}

type sender struct {
	urls    []string
	client  http.Client
	metrics *expvar.Map
	waiting *keyed.Wheel[int, int] // Messages by number, each with how many attempts have failed.
	open    sync.WaitGroup         // Messages that have neither arrived nor been given up.
}

func (s *sender) sendAll(n, atOnce, atOnceToHost int) error {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
	if err != nil {
		return err
	}
	defer timer.Stop()
	pool, hosts := pond.NewPool(atOnce), map[string]pond.Pool{} // The timer's worker alone uses the map.
	s.waiting, err = keyed.New(timer, func(id, failed int) {
		to, _ := url.Parse(s.urls[id%len(s.urls)])
		if hosts[to.Host] == nil {
			hosts[to.Host] = pool.NewSubpool(atOnceToHost, pond.WithQueueSize(10*atOnceToHost), pond.WithNonBlocking(true))
		}
		if hosts[to.Host].Go(func() { s.post(id, failed, to.String()) }) != nil { // The queue is full.
			s.later(id, failed, "refused")
		}
	}, nil)
	for id := 0; id < n && err == nil; id++ {
		s.open.Add(1)
		s.later(id, 0, "new")
	}
	s.open.Wait()
	return err
}

// later waits for a random time before the next attempt, up to twice as long after each failure.
func (s *sender) later(id, failed int, why string) {
	s.metrics.Add(why, 1)
	if err := s.waiting.Set(id, failed, rand.N(min(firstDelay<<failed, lastDelay))); err != nil {
		log.Panic(err) // The timer has no limit and runs until all is sent.
	}
}

func (s *sender) post(id, failed int, to string) {
	response, err := s.client.Post(to, "text/plain", nil)
	if err == nil {
		response.Body.Close()
	}
	switch failed++; {
	case err == nil && response.StatusCode < 300:
		s.metrics.Add("delivered", 1)
	case failed == attempts:
		s.metrics.Add("given up", 1)
	default:
		s.later(id, failed, "failed")
		return
	}
	s.open.Done()
}
