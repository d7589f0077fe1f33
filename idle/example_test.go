package idle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/idle"
)

func Example() {
	timer, err := hashedwheel.New(hashedwheel.WithTickDuration(10 * time.Millisecond)) // a second, usually
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	reaper, err := idle.NewReaper(timer, 50*time.Millisecond)
	if err != nil {
		log.Fatal(err)
	}
	defer reaper.Close()

	near, far := net.Pipe()
	defer far.Close()
	conn := reaper.Wrap(near)
	_, err = conn.Read(make([]byte, 1)) // nobody writes
	fmt.Println(errors.Is(err, idle.ErrIdle))
	// Output: true
}

func ExampleReaper_Listener() {
	timer, err := hashedwheel.New(hashedwheel.WithTickDuration(time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	reaper, err := idle.NewReaper(timer, time.Minute, idle.WithMaxAge(24*time.Hour),
		idle.WithOnIdle(func(e idle.Event) {
			log.Printf("%v after %v: %v", e.What.(net.Conn).RemoteAddr(), e.Idle, e.Reason)
		}))
	if err != nil {
		log.Fatal(err)
	}
	defer reaper.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}

	server := &http.Server{Handler: http.NotFoundHandler()}
	go server.Serve(reaper.Listener(l))
	defer server.Close()

	response, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	response.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	fmt.Println(response.Status)
	// Output: 404 Not Found
}

// A handler that works for long without a byte keeps its connection.
func ExampleWatchOf() {
	type key struct{}
	server := &http.Server{
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, key{}, idle.WatchOf(c))
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			watch := q.Context().Value(key{}).(*idle.Watch)
			watch.SetTimeout(time.Hour)
			defer func() {
				watch.Touch()       // the answer is not sent yet
				watch.SetTimeout(0) // the reaper's again
			}()
			io.WriteString(w, "a long report")
		}),
	}
	_ = server
}

func ExampleReaper_Watch() {
	timer, err := hashedwheel.New(hashedwheel.WithTickDuration(10 * time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	closed := make(chan struct{})
	reaper, err := idle.NewReaper(timer, 30*time.Millisecond,
		idle.WithOnIdle(func(idle.Event) { close(closed) }))
	if err != nil {
		log.Fatal(err)
	}
	session := io.NopCloser(nil) // anything with a Close
	watch := reaper.Watch(session)
	watch.Touch() // on every use
	<-closed
	fmt.Println(watch.Err())
	// Output: idle: closed for being idle
}
