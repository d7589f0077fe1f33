// Jobs is examples/jobs with gocron.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	r := &record{runs: map[string]int{}, last: map[string]error{}}
	s, err := gocron.NewScheduler(
		gocron.WithStopTimeout(10*time.Second),
		gocron.WithGlobalJobOptions(gocron.WithEventListeners(
			gocron.AfterJobRuns(func(_ uuid.UUID, name string) { r.note(name, nil) }),
			gocron.AfterJobRunsWithError(func(_ uuid.UUID, name string, err error) { r.note(name, err) }),
		)),
	)
	if err != nil {
		log.Fatal(err)
	}
	crons := map[string]string{"report": "CRON_TZ=Europe/Berlin 0 9 * * MON-FRI", "cleanup": "@every 10s"}
	for name, cron := range crons {
		if err := schedule(s, name, cron, 2*time.Second); err != nil {
			log.Fatal(err)
		}
	}
	s.Start()
	go func() { log.Fatal(http.ListenAndServe("localhost:8080", handler(s, r))) }()
	<-ctx.Done()
	if err := s.Shutdown(); err != nil {
		log.Print(err)
	}
}

// schedule adds a job that works for a time, unless it is stopped earlier.
func schedule(s gocron.Scheduler, name, cron string, work time.Duration) error {
	_, err := s.NewJob(gocron.CronJob(cron, false), gocron.NewTask(func(ctx context.Context) error {
		log.Printf("%s begins", name)
		select {
		case <-time.After(work):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}), gocron.WithName(name), gocron.WithSingletonMode(gocron.LimitModeReschedule))
	return err
}

// record holds the number of runs and the last error of each job.
type record struct {
	mu   sync.Mutex
	runs map[string]int
	last map[string]error
}

func (r *record) note(name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[name]++
	r.last[name] = err
}

func handler(s gocron.Scheduler, r *record) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /jobs", func(w http.ResponseWriter, _ *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, j := range s.Jobs() {
			next, _ := j.NextRun()
			fmt.Fprintf(w, "%s: %d runs, next %v, last error %v\n",
				j.Name(), r.runs[j.Name()], next.Format(time.RFC3339), r.last[j.Name()])
		}
	})
	mux.HandleFunc("POST /jobs/{name}", func(w http.ResponseWriter, r *http.Request) {
		for _, j := range s.Jobs() {
			if j.Name() == r.PathValue("name") && j.RunNow() == nil {
				return
			}
		}
		http.Error(w, "no such job", http.StatusNotFound)
	})
	return mux
}
