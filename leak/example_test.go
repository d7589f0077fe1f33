package leak_test

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/leak"
)

// Conn is a resource that must be closed.
type Conn struct {
	tracker *leak.Tracker
	peer    string
}

func open(d *leak.Detector[Conn], peer string) *Conn {
	c := &Conn{peer: peer}
	c.tracker = d.Track(c)
	return c
}

func (c *Conn) Send(text string) { c.tracker.Record(text) }

func (c *Conn) Close() { c.tracker.CloseFor(c) }

func ExampleDetector() {
	leak.SetLevel(leak.LevelParanoid) // tracks every resource
	defer leak.SetLevel(leak.LevelSimple)
	reports := make(chan leak.Report, 1)
	detector := leak.NewDetector[Conn]("pool.Conn", &leak.Options{
		Listener: func(r leak.Report) { reports <- r },
	})

	conn := open(detector, "kept.example")
	defer conn.Close()
	open(detector, "lost.example").Send("hello") // and never closed

	for range 1000 { // for the example only; programs do not need it
		runtime.GC()
		select {
		case r := <-reports:
			headline, _, _ := strings.Cut(r.String(), "\n")
			fmt.Println(headline)
			fmt.Println("last used for", r.Records[0].Hint)
			fmt.Println("created by", r.Created[1].Function)
			return
		case <-time.After(time.Millisecond):
		}
	}
	// Output:
	// LEAK: pool.Conn.Close() was not called before it was garbage-collected
	// last used for hello
	// created by github.com/hashedwheel/hwt/leak_test.ExampleDetector
}

// printer replaces the *testing.T of a test. It prints only the first lines of a
// failure, without files.
type printer struct{ leak.TestingT }

func (printer) Helper() {}

func (printer) Errorf(format string, args ...any) {
	left := 5
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		if file := strings.HasPrefix(line, "\t\t"); !file && left > 0 {
			fmt.Print(line)
			left--
		}
	}
}

func ExampleScope() {
	detector := leak.NewDetector[Conn]("pool.Conn", nil)

	scope := leak.NewScope("two connections").Watch() // in a test: leak.NewTestScope(t)
	defer scope.Check(printer{})

	open(detector, "first.example").Close()
	lost := open(detector, "second.example")
	fmt.Println("open:", len(scope.Reports()))
	runtime.KeepAlive(lost)
	// Output:
	// open: 1
	// leak: scope "two connections": 1 open
	// 1 x LEAK: pool.Conn.Close() was not called before the end of scope "two connections"
	// Created at:
	// 	github.com/hashedwheel/hwt/leak_test.open
	// 	github.com/hashedwheel/hwt/leak_test.ExampleScope
}
