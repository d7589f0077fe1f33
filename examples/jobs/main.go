// Jobs runs named jobs on cron schedules, lists them over HTTP, and stops gracefully.
//
//	go run ./jobs
//	curl localhost:8080/jobs
//	curl -X POST localhost:8080/jobs/report      # runs it now
//
// After Ctrl-C no run begins, and runs in progress may finish within ten seconds.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/hashedwheel"
)

func main() {
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument: %s", flag.Arg(0))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	timer, err := hashedwheel.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	c, err := clock.New(timer, nil)
	if err != nil {
		log.Fatal(err)
	}
	crons := map[string]string{"report": "CRON_TZ=Europe/Berlin 0 9 * * MON-FRI", "cleanup": "@every 10s"}
	for name, cron := range crons {
		if err := schedule(c, name, cron, 2*time.Second); err != nil {
			log.Fatal(err)
		}
	}
	go func() { log.Fatal(http.ListenAndServe("localhost:8080", handler(c))) }()
	log.Print("two jobs are scheduled: see http://localhost:8080/jobs")
	<-ctx.Done()
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := c.StopJobs(grace); err != nil {
		log.Print(err)
	}
	timer.Stop()
}

// schedule adds a job that works for a time, unless it is stopped earlier.
func schedule(c *clock.Clock, name, cron string, work time.Duration) error {
	spec, err := clock.ParseSpec(cron)
	if err != nil {
		return err
	}
	_, err = c.ScheduleContext(spec, func(ctx context.Context) error {
		log.Printf("%s begins", name)
		select {
		case <-time.After(work):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}, &clock.JobOptions{Name: name})
	return err
}

func handler(c *clock.Clock) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /jobs", func(w http.ResponseWriter, _ *http.Request) {
		for _, j := range c.Jobs() {
			s := j.Status()
			fmt.Fprintf(w, "%s: %d runs, next %v, last error %v\n", s.Name, s.Runs, s.Next.Format(time.RFC3339), s.LastError)
		}
	})
	mux.HandleFunc("POST /jobs/{name}", func(w http.ResponseWriter, r *http.Request) {
		switch j := c.Job(r.PathValue("name")); {
		case j == nil:
			http.Error(w, "no such job", http.StatusNotFound)
		case !j.RunNow():
			http.Error(w, "the job is running, or was stopped", http.StatusConflict)
		}
	})
	return mux
}
