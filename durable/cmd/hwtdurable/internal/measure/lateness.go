package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// Lateness measures how late entries fire while others are set at the same rate.
type Lateness struct {
	Place   place.Place
	Server  bool          // start a private PostgreSQL server
	Rate    int           // entries per second
	For     time.Duration // length of the measurement
	Workers int           // stores with a Work each

	tx     bool           // measure a Set, due now, from commit to handler
	many   int            // entries due in the same second, in place of Rate
	within time.Duration  // time to set many
	kinds  int            // the number of kinds of a Mux, or 0
	spread int            // the number of prefixes in the keys of each kind, or 0
	server *pgtest.Server // of Place, if it is known
}

// recorder notes firings.
type recorder struct {
	mu     sync.Mutex
	from   time.Time // earlier due times are not counted
	late   []time.Duration
	early  int
	lead   time.Duration // of the earliest firing before its due time
	fired  int
	bursts map[string]chan time.Time // handlers to be told, by key

	set  int           // entries
	cpu  float64       // percent of a core
	disk [2]int64      // bytes in use after a twelfth of the time, and at its end
	took time.Duration // from the due time of many entries until all have fired
	heap float64       // MB meanwhile
}

func (r *recorder) handle(_ context.Context, f durable.Firing) error {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if told := r.bursts[f.Key]; told != nil {
		delete(r.bursts, f.Key)
		told <- now
	}
	r.fired++
	if by := now.Sub(f.Due); by < 0 {
		r.early++
		r.lead = max(r.lead, -by)
	} else if !f.Due.Before(r.from) {
		r.late = append(r.late, by)
	}
	return nil
}

// Run measures and prints.
func (m Lateness) Run(ctx context.Context, out io.Writer) error {
	server, remove, err := m.Place.Temporary(ctx, m.Server, Settings)
	defer remove()
	if err != nil {
		return err
	}
	m.server = server
	r, err := m.measure(ctx)
	if err != nil {
		return err
	}
	twelfth := len(r.late) / 12
	first, last := percentiles(slices.Clone(r.late[:twelfth])), percentiles(slices.Clone(r.late[len(r.late)-twelfth:]))
	_, err = fmt.Fprintf(out, "%d/s, %d workers, %v: %d set, %d fired, %d early by up to %v; late %s; CPU %.0f %% of a core\n"+
		"the first twelfth: late %s; disk %d MB\nthe last twelfth: late %s; disk %d MB\n",
		m.Rate, m.Workers, m.For, r.set, r.fired, r.early, r.lead, percentiles(r.late), r.cpu,
		first, r.disk[0]/1e6, last, r.disk[1]/1e6)
	return err
}

// measure measures; the recorder is at rest when it returns.
func (m Lateness) measure(ctx context.Context) (*recorder, error) {
	r := &recorder{bursts: make(map[string]chan time.Time)}
	work, end := context.WithCancel(ctx)
	defer end()
	var works sync.WaitGroup
	var stores []*place.Store
	for range m.Workers {
		s, err := m.Place.Open(ctx, false)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		stores = append(stores, s)
		works.Go(func() { m.work(work, s, r.handle) }) // the count of firings tells
	}
	var err error
	switch {
	case m.tx:
		err = m.commits(ctx, stores[0], r)
	case m.many > 0:
		err = m.burst(ctx, stores[0], r)
	default:
		err = m.rate(ctx, stores[0], r)
	}
	end()
	works.Wait()
	return r, err
}

// work calls Work, or WorkMux with the kinds.
func (m Lateness) work(ctx context.Context, s *place.Store, handler durable.Handler) error {
	if m.kinds == 0 {
		return s.Work(ctx, handler, nil)
	}
	var mux durable.Mux
	for i := range m.kinds {
		mux.Handle(kindOf(i), handler, nil)
	}
	return s.WorkMux(ctx, &mux)
}

// kindOf returns the pattern of a kind.
func kindOf(i int) string { return fmt.Sprintf("kind-%d/", i) }

const (
	ahead    = 5 * time.Second // from Set to the due time, at most
	patience = time.Minute     // without a firing
)

// ahead is shorter for a short measurement.
func (m Lateness) ahead() time.Duration { return min(ahead, 2*m.For) }

// rate sets entries at the rate and measures from when the first are due.
func (m Lateness) rate(ctx context.Context, s *place.Store, r *recorder) error {
	begin := time.Now()
	r.from = begin.Add(m.ahead() + min(time.Second, m.For))
	var used, began = time.Duration(0), time.Time{}
	for step := 0; ; step++ {
		at := begin.Add(time.Duration(step) * 50 * time.Millisecond)
		if !proc.Sleep(ctx, time.Until(at)) {
			return ctx.Err()
		}
		if began.IsZero() && time.Now().After(r.from) {
			used, began = cpu(m.server), time.Now()
		}
		passed := at.Sub(r.from)
		if passed > m.For/12 && r.disk[0] == 0 || passed > m.For {
			st, err := s.Backend().Stats(ctx, nil)
			if err != nil {
				return err
			}
			r.disk[min(r.disk[0], 1)] = st.Bytes
		}
		if passed > m.For {
			break
		}
		until := int(float64(m.Rate) * at.Sub(begin).Seconds())
		n, err := s.SetMany(ctx, m.prefixed(entries(r.set, until, func(i int) time.Time {
			return begin.Add(m.ahead() + time.Duration(float64(i)/float64(m.Rate)*float64(time.Second)))
		})))
		if r.set += n; err != nil {
			return err
		}
	}
	r.cpu = 100 * (cpu(m.server) - used).Seconds() / time.Since(began).Seconds()
	return r.await(ctx, r.set)
}

// prefixed distributes entries over the kinds and prefixes.
func (m Lateness) prefixed(seq iter.Seq[durable.Entry]) iter.Seq[durable.Entry] {
	i := 0
	return func(yield func(durable.Entry) bool) {
		for e := range seq {
			if i++; m.spread > 0 {
				e.Key = kindOf(i%m.spread) + e.Key
			}
			if m.kinds > 0 {
				e.Key = kindOf(i%m.kinds) + e.Key
			}
			if !yield(e) {
				return
			}
		}
	}
}

// await waits until n entries have fired, for as long as some do: a busy machine is late, and
// the entries of a worker that loses its lease wait for its end.
func (r *recorder) await(ctx context.Context, n int) error {
	for before, end := -1, time.Now(); ; {
		r.mu.Lock()
		fired := r.fired
		r.mu.Unlock()
		switch {
		case fired >= n:
			return nil
		case fired > before:
			before, end = fired, time.Now().Add(patience)
		case time.Now().After(end):
			return fmt.Errorf("%d of %d entries fired", fired, n)
		}
		if !proc.Sleep(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// burst sets entries that are due in the same second.
func (m Lateness) burst(ctx context.Context, s *place.Store, r *recorder) error {
	due := time.Now().Add(2*m.ahead() + m.within)
	if _, err := s.SetMany(ctx, entries(0, m.many, func(i int) time.Time {
		return due.Add(time.Second * time.Duration(i) / time.Duration(m.many))
	})); err != nil {
		return err
	}
	if left := time.Until(due); left < 0 {
		return errors.New("setting the entries took until they were due: a slow disk")
	}
	proc.Sleep(ctx, time.Until(due))
	heap := watchHeap(ctx)
	err := r.await(ctx, m.many)
	r.took, r.heap = time.Since(due), heap()
	return err
}

// commits measures the time from the commit of a Set, due now, to the handler.
func (m Lateness) commits(ctx context.Context, s *place.Store, r *recorder) error {
	var took []time.Duration
	for i := 0; time.Duration(i)*20*time.Millisecond < m.For; i++ {
		key := fmt.Sprintf("tx-%d", i)
		told := make(chan time.Time, 1)
		r.mu.Lock()
		r.bursts[key] = told
		r.mu.Unlock()
		if err := s.InTx(ctx, func(tx durable.Tx) error {
			_, err := tx.Set(ctx, durable.Entry{Key: key, Due: time.Now()})
			return err
		}); err != nil {
			return err
		}
		committed := time.Now()
		select {
		case at := <-told:
			took = append(took, max(0, at.Sub(committed)))
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(ahead):
			return fmt.Errorf("%q did not fire", key)
		}
		proc.Sleep(ctx, 20*time.Millisecond)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.late = took
	return nil
}
