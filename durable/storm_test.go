package durable_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/clock"
	"github.com/hashedwheel/hwt/durable"
)

// storm is a random history of a store: calls, Works that come and go and lose their leases, handlers that
// fail in every way, pauses, and errors of the database. Each entry has a number as its payload. The keys of
// most entries are unique.
type storm struct {
	f    *fixture
	ends []func() // of the Works

	// Guarded by the mu of f.
	rand      *rand.Rand           // of the calls and the handlers
	running   map[string]int       // handlers by kind, and by serial key
	succeeded map[string]bool      // by number
	final     map[string]bool      // numbers of entries that a call has cancelled
	due       map[string]time.Time // by number, of entries that a call has moved
	pausedAt  time.Time            // of the kind "paused/", or zero
	calm      bool                 // handlers succeed
	ids       map[string]string    // of occurrences, by key and due time
	faults    []string

	set []durable.Entry // stored with unique keys
}

// stormSeries are the series, all of which catch up with missed occurrences.
var stormSeries = map[string]clock.Overlap{"series/parallel": clock.OverlapParallel, "series/queue": clock.OverlapQueueOne, "series/skip": clock.OverlapSkip}

const stormLimit = 3 // of the kind "limited/"

// handle checks the promises at the call of a handler, and ends in a random way.
func (s *storm) handle(ctx context.Context, firing durable.Firing) error {
	s.begin(&firing)
	defer s.end(&firing)
	if s.isCalm() {
		return s.succeed(&firing)
	}
	select {
	case <-time.After(s.random(400 * time.Millisecond)):
	case <-ctx.Done():
		return ctx.Err()
	}
	switch s.intN(10) {
	case 0:
		return errors.New("failed")
	case 1:
		panic("failed")
	case 2:
		runtime.Goexit()
	case 3:
		return durable.Postpone(s.random(300 * time.Millisecond))
	case 4:
		return durable.RetryAfter(s.random(300 * time.Millisecond))
	}
	return s.succeed(&firing)
}

func (s *storm) isCalm() bool {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	return s.calm
}

func (s *storm) succeed(firing *durable.Firing) error {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.succeeded[name(firing)] = true
	return nil
}

// name is the number of a firing, or the ID of an occurrence.
func name(firing *durable.Firing) string {
	if firing.Kind() == "series" {
		return firing.ID
	}
	return string(firing.Payload)
}

func (s *storm) begin(firing *durable.Firing) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	now, number, kind := time.Now(), name(firing), firing.Kind()
	if kind == "series" && firing.Attempt == 1 {
		occurrence := firing.Key + firing.Due.String()
		if id := s.ids[occurrence]; id != "" && id != firing.ID {
			s.faults = append(s.faults, fmt.Sprintf("two firings of the occurrence %s: %s and %s", occurrence, id, firing.ID))
		}
		s.ids[occurrence] = firing.ID
	}
	for is, fault := range map[string]bool{
		"early":                     now.Before(firing.Due) || now.Before(s.due[number]),
		"after its NotAfter":        !firing.NotAfter.IsZero() && now.After(firing.NotAfter),
		"after a Cancel":            s.final[number],
		"claimed during a pause":    kind == "paused" && !s.pausedAt.IsZero() && firing.Due.After(s.pausedAt.Add(time.Second)),
		"beside one of its key":     (kind == "serial" || kind == "series" && firing.Key != "series/parallel") && s.running[firing.Key] > 0,
		"beside too many of a kind": kind == "limited" && s.running[kind] >= stormLimit,
	} {
		if fault {
			s.faults = append(s.faults, fmt.Sprintf("%v: %s fired %s: %+v", now.Sub(s.f.start), number, is, firing.Entry))
		}
	}
	s.running[firing.Key]++
	s.running[kind]++
}

func (s *storm) end(firing *durable.Firing) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.running[firing.Key]--
	s.running[firing.Kind()]--
}

// work starts a Work. No two Works start at the same time.
func (s *storm) work() {
	s.sleep(10 * time.Millisecond)
	var m durable.Mux
	o := durable.WorkOptions{MaxAttempts: -1, MaxCrashes: -1, BaseBackoff: 100 * time.Millisecond, MaxBackoff: time.Second, DrainTimeout: 200 * time.Millisecond}
	for _, kind := range []string{"plain/", "limited/", "paused/", "serial/", "series/"} {
		o.Concurrency, o.Serial, o.MaxHeld = 8, kind == "serial/", 40
		options := o
		m.Handle(kind, s.handle, &options)
	}
	s.ends = append(s.ends, s.f.workMux(&m))
}

// step does one thing at random.
func (s *storm) step(n int) {
	ctx := s.f.t.Context()
	switch s.intN(40) {
	case 0: // a deployment
		i := s.intN(len(s.ends))
		s.ends[i]()
		s.ends = append(s.ends[:i], s.ends[i+1:]...)
		s.work()
	case 1: // an outage, in which leases may end
		methods := append([]string{"after Lease", "after Finish", "Adopt", "Share", "Limited"}, workMethods...)
		method := methods[s.intN(len(methods))]
		s.f.b.set(method, errGone)
		s.sleep(8 * time.Second)
		s.f.b.set(method, nil)
	case 2:
		require.NoError(s.f.t, s.f.Pause(ctx, durable.Pause{Scope: durable.Scope{Prefix: "paused/"}}))
		s.pause(time.Now())
		s.sleep(3 * time.Second)
		s.pause(time.Time{})
		require.NoError(s.f.t, s.f.Resume(ctx, durable.Scope{Prefix: "paused/"}))
	case 3, 4, 5, 6:
		s.change(s.set[len(s.set)-1-s.intN(min(len(s.set), 30))])
	case 7, 8, 9: // again and again
		_, err := s.f.Set(ctx, durable.Entry{Key: fmt.Sprint("serial/", s.intN(3)), Due: time.Now(), Payload: []byte(strconv.Itoa(n))})
		require.NoError(s.f.t, err)
	default:
		s.store(n)
	}
	s.sleep(20 * time.Millisecond)
}

// random returns a time below most, to the nanosecond.
func (s *storm) random(most time.Duration) time.Duration { return time.Duration(s.int64N(int64(most))) }

func (s *storm) intN(n int) int { return int(s.int64N(int64(n))) }

func (s *storm) int64N(n int64) int64 {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	return s.rand.Int64N(n)
}

func (s *storm) sleep(most time.Duration) { time.Sleep(s.random(most)) }

// store stores an entry with a unique key.
func (s *storm) store(n int) {
	kinds := []string{"plain", "limited", "paused"}
	e := durable.Entry{Key: fmt.Sprintf("%s/%d", kinds[s.intN(len(kinds))], n), Due: time.Now().Add(s.random(3 * time.Second)),
		Payload: []byte(strconv.Itoa(n)), Group: []string{"", "a", "b"}[s.intN(3)]}
	if s.intN(4) == 0 {
		e.NotAfter = e.Due.Add(s.random(2 * time.Second))
	}
	_, err := s.f.Set(s.f.t.Context(), e)
	require.NoError(s.f.t, err)
	s.set = append(s.set, e)
}

func (s *storm) pause(at time.Time) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.pausedAt = at
}

// change cancels or moves an entry. No handler begins between the call and the note: a Move leads to the future.
func (s *storm) change(e durable.Entry) {
	ctx, number := s.f.t.Context(), string(e.Payload)
	var err error
	if s.intN(2) == 0 {
		_, err = s.f.Cancel(ctx, e.Key)
		s.f.mu.Lock()
		s.final[number] = s.final[number] || err == nil
		s.f.mu.Unlock()
	} else if e.NotAfter.IsZero() {
		due := time.Now().Add(time.Second)
		_, err = s.f.Move(ctx, e.Key, due)
		s.f.mu.Lock()
		if err == nil {
			s.due[number] = due
		}
		s.f.mu.Unlock()
	}
	if !errors.Is(err, durable.ErrNotFound) && !errors.Is(err, durable.ErrFired) {
		require.NoError(s.f.t, err)
	}
}

// judge waits until the store has no entry. Each entry has succeeded, was cancelled, or has expired. Each occurrence of the
// series without skips has succeeded.
func (s *storm) judge() {
	s.f.mu.Lock()
	s.calm = true
	s.f.mu.Unlock()
	time.Sleep(time.Minute)
	for key := range stormSeries {
		e, err := s.f.Get(s.f.t.Context(), key)
		require.NoError(s.f.t, err)
		require.Less(s.f.t, time.Until(e.Due), 2*time.Second)
		_, err = s.f.Cancel(s.f.t.Context(), key)
		require.NoError(s.f.t, err)
	}
	last := time.Since(s.f.start) - 30*time.Second
	s.f.mu.Lock()
	for due := s.f.start.Round(0).Add(time.Second).UTC(); due.Before(s.f.start.Add(last)); due = due.Add(time.Second) {
		if id := s.ids["series/parallel"+due.String()]; !s.succeeded[id] {
			s.faults = append(s.faults, fmt.Sprintf("the occurrence of %v has not succeeded: %q", due, id))
		}
	}
	s.f.mu.Unlock()
	deadline := time.Now().Add(time.Hour)
	for (len(s.f.keys()) > 0 || s.f.claimed() > 0) && time.Now().Before(deadline) {
		time.Sleep(time.Second)
	}
	for _, end := range s.ends {
		end()
	}
	expired := make(map[string]bool)
	for _, d := range s.f.dead() {
		require.False(s.f.t, d.NotAfter.IsZero(), "%+v", d)
		expired[string(d.Payload)] = true
	}
	for _, e := range s.set {
		number := string(e.Payload)
		if fates := []bool{s.succeeded[number], s.final[number], expired[number]}; !fates[0] && !fates[1] && !fates[2] {
			s.faults = append(s.faults, fmt.Sprintf("%s is lost: %+v", number, e))
		}
	}
	require.Empty(s.f.t, s.faults, strings.Join(s.faults, "\n"))
	require.Greater(s.f.t, len(s.succeeded), 100)
}

// claimed returns the number of claimed rows.
func (f *fixture) claimed() int64 {
	st, err := f.b.DB.Stats(f.t.Context(), nil)
	require.NoError(f.t, err)
	return st.Claimed
}

func TestStormKeepsThePromises(t *testing.T) {
	seeds := 8
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inBubble(t, func(f *fixture) {
				s := &storm{f: f, rand: rand.New(rand.NewPCG(uint64(seed), 0)), running: make(map[string]int), succeeded: make(map[string]bool),
					final: make(map[string]bool), due: make(map[string]time.Time), ids: make(map[string]string)}
				for key, overlap := range stormSeries {
					_, err := f.Set(f.t.Context(), durable.Entry{Key: key, Due: f.start.Add(time.Second),
						Every: durable.Every{Spec: "@every 1s", Overlap: overlap, Missed: clock.Missed{MaxRuns: 10_000}}})
					require.NoError(t, err)
				}
				require.NoError(t, f.Limit(f.t.Context(), durable.Scope{Prefix: "limited/"}, durable.Limit{Running: stormLimit}))
				s.work()
				s.work()
				s.store(0)
				for n := range 600 {
					s.step(n + 1)
				}
				s.judge()
			})
		})
	}
}
