package check

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

// Config is the configuration of a process. A process with callers performs operations, and
// a process that works fires.
type Config struct {
	Place   place.Place
	Dir     string // of journals and firings
	Callers int
	Keys    int  // keys in concurrent use
	Far     bool // entries are due in a day, and keys stay in use
	Payload int  // bytes, at least
	Single  bool // no operation is on several keys
	Works   bool
	Kinds   bool  // workers handle some kinds, instead of all entries by one handler
	First   int64 // due time of the series, which a worker ensures at its start; 0 before the first series
}

// Run is the role of a process of the checker.
func Run(c Config) error {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	if c.Place.URL != "" { // by which the server's connections are found
		c.Place.URL += fmt.Sprintf("&application_name=check-%d", os.Getpid())
	}
	open, cancel := context.WithTimeout(ctx, time.Minute)
	s, err := c.Place.Open(open, false)
	cancel()
	if err != nil {
		return err
	}
	defer s.Close()
	firings, err := c.open("firings")
	if err != nil {
		return err
	}
	defer firings.file.Close()
	journal, err := c.open("journal")
	if err != nil {
		return err
	}
	defer journal.file.Close()
	if c.Works && c.First != 0 {
		if err := ensureSeries(ctx, s, time.Unix(0, c.First)); err != nil {
			return err
		}
	}
	var all sync.WaitGroup
	failed := make(chan error, c.Callers+1)
	start := func(f func(ctx context.Context) error) {
		all.Go(func() {
			if err := f(ctx); err != nil {
				failed <- err
			}
		})
	}
	if c.Works {
		start((&worker{c, s, firings}).run)
	}
	cl := &client{Config: c, store: s, journal: journal}
	for range c.Callers {
		start(cl.run)
	}
	proc.Ready()
	select {
	case <-proc.ParentEnded():
		end()
		all.Wait()
		return nil
	case err := <-failed:
		return err
	}
}

// open opens a file of this process.
func (c Config) open(name string) (*lines, error) {
	return openLines(filepath.Join(c.Dir, fmt.Sprintf("%s-%d", name, os.Getpid())))
}

// worker fires entries.
type worker struct {
	Config
	store   *place.Store
	firings *lines
}

// drain is long enough for all handlers but the slow ones of occurrences.
const drain = 2 * time.Second

func (w *worker) run(ctx context.Context) error {
	if !w.Kinds {
		return w.store.Work(ctx, w.handle, &durable.WorkOptions{DrainTimeout: drain})
	}
	var mux durable.Mux
	for kind, o := range kinds {
		o.DrainTimeout = drain
		mux.Handle(kind, w.handle, &o)
	}
	return w.store.WorkMux(ctx, &mux)
}

// handle appends a firing, and a second line at the end of a handler that must run alone or has a limit, or that
// the end of its context has interrupted. All attempts of a generation agree.
func (w *worker) handle(ctx context.Context, f durable.Firing) error {
	gaveUp := f.Generation%4 == 0 && !isRecurring(f.Key) && !isProbe(f.Key)
	line := Firing{Key: f.Key, Group: f.Group, Due: f.Due.UnixNano(), Generation: f.Generation, ID: f.ID, At: trueTime(), Worker: os.Getpid(),
		Attempt: f.Attempt, GaveUp: gaveUp, Payload: sum(f.Entry), NotAfter: f.NotAfter, Late: int64(f.Lateness)}
	if err := w.firings.add(line); err != nil {
		return err
	}
	err := w.act(ctx, f)
	interrupted := err != nil && err == ctx.Err() // it has no effect, and is no failed attempt
	if err == nil && gaveUp {
		err = durable.GiveUp(errGaveUp)
	}
	if isTimed(f.Key) || interrupted {
		line.Begin, line.At, line.Cut = line.At, trueTime(), interrupted
		if failed := w.firings.add(line); failed != nil {
			return failed
		}
	}
	return err
}

// act does the work of a handler.
func (w *worker) act(ctx context.Context, f durable.Firing) error {
	switch {
	case f.Key == poisonKey:
		os.Exit(1)
	case strings.HasPrefix(f.Key, crossedPrefix) && len(f.Payload) > 0: // set again in the meantime
		proc.Sleep(ctx, 10*time.Second)
	case backend.KindOf(f.Key) == limitPrefix || strings.HasPrefix(f.Key, backlogPrefix):
		proc.Sleep(ctx, rand.N(200*time.Millisecond))
		return ctx.Err()
	case alone(f.Key):
		return w.takeTime(ctx, f)
	case isRecurring(f.Key):
		return w.handleOccurrence(ctx, f)
	}
	return nil
}

// takeTime ends early with the lease, after which another worker may call the handler. The end of Work
// interrupts occurrences only: jobs are pending again then, and the model does not know that.
func (w *worker) takeTime(ctx context.Context, f durable.Firing) error {
	end := time.After(rand.N(seriesEvery / 2))
	select {
	case <-end:
		return nil
	case <-ctx.Done():
	}
	if !isRecurring(f.Key) && !errors.Is(context.Cause(ctx), durable.ErrLeaseLost) {
		<-end // before the end of drain
		return nil
	}
	return ctx.Err()
}

var errGaveUp = errors.New("no such order")
