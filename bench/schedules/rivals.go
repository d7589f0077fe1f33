package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/robfig/cron/v3"

	"github.com/hashedwheel/hwt/bench/internal/proc"
	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
)

// rival is a library. start starts a job for each expression, which has six fields, and
// returns the function that stops them.
type rival struct {
	name, title string
	start       func(specs []string, f func()) (stop func(), err error)
}

// rivals are the libraries, ours first.
var rivals = []rival{
	{"clock", "`clock`", startClock},
	{"cron", "robfig/cron", startCron},
	{"gocron", "gocron", startGocron},
}

func startClock(specs []string, f func()) (func(), error) {
	timer, err := hashedwheel.New(&hashedwheel.Options{TickDuration: 10 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	c, err := clock.New(timer, nil)
	if err != nil {
		return nil, err
	}
	for _, text := range specs {
		spec, err := clock.ParseSpec(text)
		if err != nil {
			return nil, err
		}
		if _, err := c.ScheduleFunc(spec, f, nil); err != nil {
			return nil, err
		}
	}
	return func() { timer.Stop() }, nil
}

func startCron(specs []string, f func()) (func(), error) {
	c := cron.New(cron.WithSeconds())
	for _, spec := range specs {
		if _, err := c.AddFunc(spec, f); err != nil {
			return nil, err
		}
	}
	c.Start()
	return func() { c.Stop() }, nil
}

func startGocron(specs []string, f func()) (func(), error) {
	s, err := gocron.NewScheduler()
	if err != nil {
		return nil, err
	}
	for _, spec := range specs {
		if _, err := s.NewJob(gocron.CronJob(spec, true), gocron.NewTask(f)); err != nil {
			return nil, err
		}
	}
	s.Start()
	return func() { _ = s.Shutdown() }, nil
}

// sample is the result of one process.
type sample struct {
	SetUp  float64 // CPU, ms
	CPU    float64 // ms per second
	HeapMB float64
	Runs   int64
}

// runChild runs the jobs of one library and prints a sample.
func runChild(name, count string, span time.Duration) error {
	jobs, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	specs := make([]string, jobs)
	for i := range specs {
		specs[i] = fmt.Sprintf("%d/30 * * * * *", i%30)
	}
	i := slices.IndexFunc(rivals, func(r rival) bool { return r.name == name })
	if i < 0 {
		return fmt.Errorf("no library %q", name)
	}
	var s sample
	var runs atomic.Int64
	heap, began := proc.Heap(), proc.Now()
	stop, err := rivals[i].start(specs, func() { runs.Add(1) })
	if err != nil {
		return err
	}
	s.SetUp = float64(proc.Now().Sub(began).CPU) / 1e6
	time.Sleep(time.Second) // For work in the background.
	s.HeapMB = float64(proc.Heap()-heap) / 1e6
	before, ran := proc.Now(), runs.Load()
	time.Sleep(span)
	s.CPU = float64(proc.Now().Sub(before).CPU) / 1e6 / span.Seconds()
	s.Runs = runs.Load() - ran
	stop()
	return json.NewEncoder(os.Stdout).Encode(s)
}
