package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

// kindRows are the rows of docs/queues.md. Each round measures the two sides of a ratio in turn.
var kindRows = []row{
	{"lateness of a group, p99", "%.1f ms"},
	{"the same beside 100,000 due entries of another group", "%.1f ms"},
	{"CPU per entry at 5,000/s: 100 kinds / one kind with keys in order", "%.2f"},
	{"CPU per entry at 5,000/s: 100 kinds / one kind with keys of 100 prefixes", "%.2f"},
	{"lateness at 1,000/s, p50", "%.2f ms"},
	{"the same beside due entries without a handler", "%.2f ms"},
	{"ratio of the two", "%.2f"},
	{"`RequeueMany` of 5,000 dead letters", "%.2f s"},
	{"throughput of 40 handlers: with / without a limit of 40", "%.2f"},
}

const (
	backlog = 100_000 // due entries of a group
	letters = 5000    // dead letters
)

// kinds measures the rows of a column.
func (f *Figures) kinds(ctx context.Context, c column, log io.Writer) error {
	return f.fresh(ctx, c, func(crowd place.Place) error {
		if err := f.crowd(ctx, c, crowd); err != nil {
			return err
		}
		for round := range f.Rounds {
			for _, measure := range []func() error{
				func() error { return f.groups(ctx, c) },
				func() error { return f.cpuOfKinds(ctx, c) },
				func() error { return f.unhandled(ctx, c, crowd) },
				func() error { return f.requeue(ctx, c) },
				func() error { return f.limited(ctx, c) },
			} {
				if err := measure(); err != nil {
					return err
				}
			}
			fmt.Fprintf(log, "%s: round %d\n", c.name, round+1)
		}
		return nil
	})
}

// crowd fills a store with due entries of a kind without a handler, and creates the index of kinds.
func (f *Figures) crowd(ctx context.Context, c column, p place.Place) error {
	s, err := p.Open(ctx, false)
	if err != nil {
		return err
	}
	due := time.Now().Add(-time.Hour)
	_, err = s.SetMany(ctx, named("unhandled/", "", f.Entries, func(i int) time.Time { return due.Add(time.Duration(i)) }))
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	_, err = Lateness{Place: p, Workers: 1, Rate: 1000, For: f.For, kinds: 1, server: c.server}.measure(ctx)
	return err
}

// named returns n entries of a kind and a group.
func named(kind, group string, n int, due func(i int) time.Time) iter.Seq[durable.Entry] {
	return func(yield func(durable.Entry) bool) {
		for e := range entries(0, n, due) {
			if e.Key, e.Group = kind+e.Key, group; !yield(e) {
				return
			}
		}
	}
}

// groups measures the lateness of a group alone, and beside the backlog of another group.
func (f *Figures) groups(ctx context.Context, c column) error {
	for i, n := range []int{0, backlog} {
		err := f.fresh(ctx, c, func(p place.Place) error {
			late, err := besideBacklog(ctx, p, n, f.For)
			if err == nil {
				f.note(kindRows[i].name, c, milliseconds(percentile(late, 0.99)))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// besideBacklog returns the lateness of 500 entries per second while n due entries of another group fire,
// or for a time if there are none.
func besideBacklog(ctx context.Context, p place.Place, n int, length time.Duration) (late []time.Duration, err error) {
	s, err := p.Open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	past := time.Now().Add(-time.Second)
	if _, err := s.SetMany(ctx, named("large/", "large", n, func(int) time.Time { return past })); err != nil {
		return nil, err
	}
	work, end := context.WithCancel(ctx)
	defer end()
	if n == 0 {
		time.AfterFunc(length+time.Second, end)
	}
	var setter sync.WaitGroup
	setter.Go(func() {
		for i := 0; proc.Sleep(work, 50*time.Millisecond); i++ {
			due := time.Now().Add(300 * time.Millisecond)
			s.SetMany(work, named(fmt.Sprintf("small/%d/", i), "small", 25, func(i int) time.Time { // its end is no failure
				return due.Add(time.Duration(i) * 2 * time.Millisecond)
			}))
		}
	})
	var fired atomic.Int64
	var mu sync.Mutex
	err = s.Work(work, func(_ context.Context, firing durable.Firing) error {
		if firing.Group == "large" {
			if fired.Add(1) == int64(n) {
				end()
			}
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if work.Err() == nil {
			late = append(late, firing.Lateness)
		}
		return nil
	}, nil)
	setter.Wait()
	if err == nil && len(late) == 0 {
		err = fmt.Errorf("no entry was due while %d entries of another group fired", n)
	}
	return late, err
}

// cpuOfKinds compares the CPU time of 100 kinds with one kind, from the first Set until all have fired. Keys of 100
// prefixes are in as many places of the table as keys of 100 kinds.
func (f *Figures) cpuOfKinds(ctx context.Context, c column) error {
	var used [3]float64
	for i, m := range []Lateness{{kinds: 1}, {kinds: 1, spread: 100}, {kinds: 100}} {
		m.Workers, m.Rate = 1, 5000
		before := cpu(c.server)
		r, err := f.lateness(ctx, c, m)
		if err != nil {
			return err
		}
		used[i] = (cpu(c.server) - before).Seconds() / float64(r.set)
	}
	f.note(kindRows[2].name, c, used[2]/used[0])
	f.note(kindRows[3].name, c, used[2]/used[1])
	return nil
}

// unhandled compares the lateness in an empty store and in a crowded one.
func (f *Figures) unhandled(ctx context.Context, c column, crowd place.Place) error {
	m := Lateness{Workers: 1, Rate: 1000, kinds: 1}
	alone, err := f.lateness(ctx, c, m)
	if err != nil {
		return err
	}
	m.Place, m.For, m.server = crowd, f.For, c.server
	beside, err := m.measure(ctx)
	if err != nil {
		return err
	}
	a, b := milliseconds(percentile(alone.late, 0.5)), milliseconds(percentile(beside.late, 0.5))
	f.note(kindRows[4].name, c, a)
	f.note(kindRows[5].name, c, b)
	f.note(kindRows[6].name, c, b/a)
	return nil
}

// requeue measures RequeueMany.
func (f *Figures) requeue(ctx context.Context, c column) error {
	return f.fresh(ctx, c, func(p place.Place) error {
		s, err := p.Open(ctx, false)
		if err != nil {
			return err
		}
		defer s.Close()
		now := time.Now()
		if _, err := s.SetMany(ctx, entries(0, letters, func(int) time.Time { return now })); err != nil {
			return err
		}
		work, end := context.WithCancel(ctx)
		defer end()
		var failed atomic.Int64
		err = s.Work(work, func(context.Context, durable.Firing) error {
			if failed.Add(1) == letters {
				end()
			}
			return durable.GiveUp(errors.New("refused"))
		}, nil)
		if err != nil {
			return err
		}
		began := time.Now()
		n, err := s.RequeueMany(ctx, durable.Letters{All: true})
		f.note(kindRows[7].name, c, time.Since(began).Seconds())
		if err == nil && n != letters {
			err = fmt.Errorf("%d of %d dead letters were requeued", n, letters)
		}
		return err
	})
}

// limited compares the throughput of a group under a limit of as many handlers as two workers have with the throughput
// without the limit.
func (f *Figures) limited(ctx context.Context, c column) error {
	var rates [2]float64
	for i, running := range []int{0, 2 * handlers} {
		err := f.fresh(ctx, c, func(p place.Place) (err error) {
			rates[i], err = underLimit(ctx, p, running, int(f.For.Seconds()*2*handlers/handling.Seconds()))
			return err
		})
		if err != nil {
			return err
		}
	}
	f.note(kindRows[8].name, c, rates[1]/rates[0])
	return nil
}

const (
	handlers = 20                    // of each of two workers
	handling = 10 * time.Millisecond // time that each handler takes
)

// underLimit returns the rate at which n due entries of a group fire.
func underLimit(ctx context.Context, p place.Place, running, n int) (rate float64, err error) {
	var stores [2]*place.Store
	for i := range stores {
		if stores[i], err = p.Open(ctx, false); err != nil {
			return 0, err
		}
		defer stores[i].Close()
	}
	if running > 0 {
		if err := stores[0].Limit(ctx, durable.Scope{Group: "group"}, durable.Limit{Running: running}); err != nil {
			return 0, err
		}
	}
	now := time.Now()
	if _, err := stores[0].SetMany(ctx, named("", "group", n, func(int) time.Time { return now })); err != nil {
		return 0, err
	}
	work, end := context.WithCancel(ctx)
	var fired atomic.Int64
	var works sync.WaitGroup
	defer works.Wait()
	defer end()
	began := time.Now()
	for _, s := range stores {
		works.Go(func() {
			err := s.Work(work, func(context.Context, durable.Firing) error {
				time.Sleep(handling)
				if fired.Add(1) == int64(n) {
					end()
				}
				return nil
			}, &durable.WorkOptions{Concurrency: handlers})
			if err != nil {
				end()
			}
		})
	}
	<-work.Done()
	if fired.Load() < int64(n) {
		return 0, fmt.Errorf("%d of %d entries fired", fired.Load(), n)
	}
	return float64(n) / time.Since(began).Seconds(), ctx.Err()
}
