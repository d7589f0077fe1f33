package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/clock"
)

type withTimeout = func(context.Context, time.Duration) (context.Context, context.CancelFunc)

const requestsText = `64 clients of one process send 100,000 requests on connections that stay open. Each
request gets a deadline of 30 seconds. The CPU time includes the clients and the
kernel.`

var requests = program{
	name: "requests", title: "An HTTP server with request deadlines",
	text:   requestsText + " The handler calls Err once.",
	remark: "There is nothing to gain: a deadline costs a few percent of a request, with either package.",
	sides:  deadlineSides(serve(func(ctx context.Context) { must(ctx.Err()) })),
}

var requestsWaited = program{
	name: "requests-waited", title: "An HTTP server whose handlers wait for their deadlines",
	text: requestsText + " The handler waits for an answer or for Done.",
	remark: "Use package context here: a context that is waited for costs more on a clock, although\n" +
		"the cost of a request hides most of it.",
	sides: deadlineSides(serve(await)),
}

// await waits for an answer that another goroutine gives, or for the end of ctx.
func await(ctx context.Context) {
	answer := make(chan struct{})
	go close(answer)
	select {
	case <-answer:
	case <-ctx.Done():
		must(ctx.Err())
	}
}

// deadlineSides returns the sides of a program whose requests have deadlines.
func deadlineSides(load func(scale int, with withTimeout) sample) []side {
	run := func(with func() withTimeout) func(int) sample {
		return func(scale int) sample { return load(scale, with()) }
	}
	return []side{
		{"no deadline", run(func() withTimeout { return noDeadline })},
		{"context.WithTimeout", run(func() withTimeout { return context.WithTimeout })},
		{"`clock`.WithTimeout", run(func() withTimeout {
			c, err := clock.New(newTimer(10*time.Millisecond), nil)
			must(err)
			return c.WithTimeout
		})},
	}
}

func noDeadline(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	return ctx, func() {}
}

func serve(work func(context.Context)) func(int, withTimeout) sample {
	return func(scale int, with withTimeout) sample { return runRequests(scale, with, work) }
}

const clients = 64

func runRequests(scale int, with withTimeout, work func(context.Context)) sample {
	n := 100_000 / scale / clients
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := with(r.Context(), 30*time.Second)
		defer cancel()
		work(ctx)
		_, _ = io.WriteString(w, "done")
	})}
	go server.Serve(l)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	url := "http://" + l.Addr().String()
	return measureRequests(n, func() {
		response, err := client.Get(url)
		must(err)
		_, _ = io.Copy(io.Discard, response.Body)
		must(response.Body.Close())
	})
}

// measureRequests measures n requests of each client.
func measureRequests(n int, request func()) (s sample) {
	send := func(times int) {
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				for range times {
					request()
				}
			})
		}
		all.Wait()
	}
	send(max(1, n/10))
	s.CPU = cpuOf(n*clients, func() { send(n) })
	s.HeapMB = heapMB()
	return s
}
