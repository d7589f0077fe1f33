package idle_test

import (
	"bufio"
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
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond}) // usually a second
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	reaper, err := idle.New(timer, 50*time.Millisecond, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer reaper.Close()

	near, far := net.Pipe()
	defer far.Close()
	conn := reaper.Wrap(near)
	_, err = conn.Read(make([]byte, 1)) // the other side does not write
	fmt.Println(errors.Is(err, idle.ErrIdle))
	// Output: true
}

func ExampleReaper_Listener() {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	reaper, err := idle.New(timer, time.Minute, &idle.Options{MaxAge: 24 * time.Hour, OnExpire: func(e idle.Event) {
		log.Printf("%v after %v: %v", e.Closer.(net.Conn).RemoteAddr(), e.Idle, e.Reason)
	}})
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

// A hijacked connection may be silent for longer than the others.
func ExampleWatchOf() {
	http.HandleFunc("/events", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer conn.Close()
		if watch := idle.WatchOf(conn); watch != nil {
			watch.SetTimeout(time.Hour)
		}
		// Speak the other protocol.
	})
}

// A server of a custom protocol holds a connection while it works on a response.
func ExampleWatch_Hold() {
	serve := func(conn net.Conn, answer func(question string) string) error { // conn: from a reaper's listener
		watch := idle.WatchOf(conn)
		for questions := bufio.NewScanner(conn); questions.Scan(); {
			release := watch.Hold()
			text := answer(questions.Text()) // may take longer than the idle timeout
			release()
			if _, err := fmt.Fprintln(conn, text); err != nil {
				return err
			}
		}
		return nil
	}
	_ = serve
}

func ExampleReaper_Watch() {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	closed := make(chan struct{})
	reaper, err := idle.New(timer, 30*time.Millisecond,
		&idle.Options{OnExpire: func(idle.Event) { close(closed) }})
	if err != nil {
		log.Fatal(err)
	}
	session := io.NopCloser(nil) // anything with a Close
	watch := reaper.Watch(session)
	watch.Touch() // on every use
	<-closed
	fmt.Println(watch.Err())
	// Output: idle: closed because of inactivity
}
