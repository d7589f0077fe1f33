package idlehttp_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/idle"
	"github.com/hashedwheel/hwt/idle/idlehttp"
)

func ExampleHoldHandlers() {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	reaper, err := idle.New(timer, time.Minute, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer reaper.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}

	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "a report that may take longer than a minute")
	})}
	idlehttp.HoldHandlers(server)
	go server.Serve(reaper.Listener(listener))
	defer server.Close()

	response, err := http.Get("http://" + listener.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer response.Body.Close()
	report, err := io.ReadAll(response.Body)
	fmt.Printf("%s %v\n", report, err)
	// Output: a report that may take longer than a minute <nil>
}

// Behind a load balancer, connections end after a while so that clients reach new servers. A
// report that is being written may take up to an hour more.
func ExampleHoldHandlers_maxAgeGrace() {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	defer timer.Stop()
	closed := make(chan error, 100)
	reaper, err := idle.New(timer, time.Minute, &idle.Options{
		MaxAge:      100 * time.Millisecond, // usually some minutes
		MaxAgeGrace: time.Hour,
		OnExpire:    func(e idle.Event) { closed <- e.Reason },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer reaper.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(300 * time.Millisecond)
		io.WriteString(w, "report")
	})}
	idlehttp.HoldHandlers(server)
	go server.Serve(reaper.Listener(listener))
	defer server.Close()

	response, err := http.Get("http://" + listener.Addr().String())
	for err != nil { // On a busy machine, a connection may reach its age before its request.
		response, err = http.Get("http://" + listener.Addr().String())
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer response.Body.Close()
	report, err := io.ReadAll(response.Body)
	fmt.Println(string(report), err)
	fmt.Println(<-closed)
	// Output:
	// report <nil>
	// idle: closed at its maximum age
}
