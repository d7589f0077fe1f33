package keyed_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/hashedwheel"
	"github.com/hashedwheel/hwt/keyed"
)

type order struct {
	Customer string
	Cents    int
}

type (
	orders = keyed.Wheel[int, order]
	entry  = keyed.Entry[int, order]
)

// save moves the pending orders to a file.
func save(path string, pending *orders) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, file.Close()) }()
	buffer := bufio.NewWriter(file)
	encoder := json.NewEncoder(buffer)
	drained := pending.Drain(func(e entry) { err = firstError(err, encoder.Encode(e)) })
	return firstError(err, drained, buffer.Flush(), file.Sync())
}

// load schedules the orders of a file. Overdue orders fire immediately.
func load(path string, pending *orders) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for decoder := json.NewDecoder(bufio.NewReader(file)); ; {
		var e entry
		switch err := decoder.Decode(&e); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := pending.Set(e.Key, e.Value, e.Left()); err != nil {
			return err
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A shop saves 100,000 pending orders when it shuts down, and loads them when it starts
// again. The orders that became due in between are checked immediately.
func Example_restart() {
	dir, err := os.MkdirTemp("", "orders")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "pending")

	var checked atomic.Int64
	shop := func() (pending *orders, stop func()) {
		timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
		if err != nil {
			log.Fatal(err)
		}
		pending, err = keyed.New(timer, func(int, order) { checked.Add(1) },
			&keyed.Options[int, order]{DrainWorkers: 1}) // one writes the file
		if err != nil {
			log.Fatal(err)
		}
		return pending, func() { timer.Stop() }
	}

	pending, stop := shop()
	for id := range 100_000 {
		delay := 30 * time.Minute
		if id < 1000 {
			delay = 300 * time.Millisecond
		}
		if err := pending.Set(id, order{"Ada", 995}, delay); err != nil {
			log.Fatal(err)
		}
	}
	if err := save(path, pending); err != nil {
		log.Fatal(err)
	}
	stop()

	time.Sleep(300 * time.Millisecond) // closed for the night
	pending, stop = shop()
	defer stop()
	if err := load(path, pending); err != nil {
		log.Fatal(err)
	}
	for checked.Load() < 1000 {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println(checked.Load(), "orders checked,", pending.Len(), "pending")
	// Output: 1000 orders checked, 99000 pending
}
