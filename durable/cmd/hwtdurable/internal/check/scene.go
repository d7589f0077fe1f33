package check

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable"
	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

// scene is a store with its processes.
type scene struct {
	dir     string
	configs []Config
	resolve func(ctx context.Context, pid int) error // waits until nothing of a dead process is under way
	reads   place.Place                              // of the judge
	longest time.Duration                            // pause of a process
	first   int64                                    // due time of the recurring entries
	once    []series                                 // the one-shot entries of the same times
	others  int                                      // entries of the kind that no worker handles
	skipped map[string]bool                          // reasons
	procs   []*proc.Process
	faults  []Fault
}

// start starts the i-th process.
func (s *scene) start(ctx context.Context, i int) error {
	p, err := proc.Start(ctx, "check", s.configs[i])
	if err == nil {
		s.procs[i] = p
	}
	return err
}

func (s *scene) startAll(ctx context.Context) error {
	s.procs = make([]*proc.Process, len(s.configs))
	for i := range s.configs {
		if err := s.start(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// note records a fault that had an effect on the processes, or on all if hit is nil.
func (s *scene) note(kind string, begin int64, hit []int) *Fault {
	s.faults = append(s.faults, Fault{Kind: kind, Begin: begin, End: now(), Hit: hit})
	return &s.faults[len(s.faults)-1]
}

// role names a process in the counts of faults.
func (s *scene) role(i int) string {
	switch c := s.configs[i]; {
	case c.Works && c.Callers > 0:
		return "client and worker"
	case c.Works:
		return "worker"
	}
	return "client"
}

// kill kills a process and starts it again.
func (s *scene) kill(ctx context.Context, i int) error {
	p := s.procs[i]
	begin := now()
	if !p.Kill() {
		return fmt.Errorf("a %s ended by itself: %s", s.role(i), p.Stderr())
	}
	if err := s.over(ctx, p); err != nil {
		return err
	}
	s.note("SIGKILL of a "+s.role(i), begin, []int{p.PID()}).Stops = true
	return s.start(ctx, i)
}

// over notes that operations of an ended process take no effect any more.
func (s *scene) over(ctx context.Context, p *proc.Process) error {
	if err := s.resolve(ctx, p.PID()); err != nil {
		return err
	}
	path := filepath.Join(s.dir, fmt.Sprintf("journal-%d", p.PID()))
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.Truncate(path, int64(len(whole(text))))
	}
	if err == nil {
		err = addLines(path, Record{At: now(), Over: true})
	}
	return err
}

// stop stops a process for a time, as a machine that stalls. The process may hold the lock
// of a file, for which all others wait: no entry of the others fires again.
func (s *scene) stop(ctx context.Context, i int) error {
	pid := s.procs[i].PID()
	err := s.stall(ctx, "SIGSTOP of a "+s.role(i), []int{pid}, pid)
	if err == nil {
		s.faults[len(s.faults)-1].Waits = s.reads.File != ""
	}
	return err
}

// stall stops processes for a time. The fault is one of the processes in hit.
func (s *scene) stall(ctx context.Context, kind string, hit []int, pids ...int) error {
	begin, err := now(), error(nil)
	for _, pid := range pids {
		err = errors.Join(err, pause(pid))
	}
	if err == nil {
		proc.Sleep(ctx, s.pauseTime())
	}
	for _, pid := range pids {
		err = errors.Join(err, resume(pid))
	}
	if err != nil {
		return err
	}
	proc.Sleep(ctx, time.Second) // a firing that was under way counts as part of the fault
	s.note(kind, begin, hit).Stops = hit != nil
	return nil
}

// watch notes the times in which the machine keeps this process from syncing a file for half of a
// lease: workers may then lose leases. The caller calls stop.
func (s *scene) watch() (stop func() ([]Fault, error)) {
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	var stalls []Fault
	go func() {
		file, err := os.Create(filepath.Join(s.dir, "watch"))
		for begin := now(); err == nil && proc.Sleep(ctx, 100*time.Millisecond); begin = now() {
			_, err = file.WriteAt([]byte("x"), 0)
			err = errors.Join(err, file.Sync())
			if end := now(); end-begin > int64(lease/2) {
				stalls = append(stalls, Fault{Kind: "stall of the machine", Begin: begin, End: end, Stops: true})
			}
		}
		result <- errors.Join(err, file.Close())
	}()
	return func() ([]Fault, error) {
		cancel()
		err := <-result
		return stalls, err
	}
}

// pauseTime returns a time from one second to the scene's longest.
func (s *scene) pauseTime() time.Duration { return time.Second + rand.N(s.longest-time.Second) }

// finish ends the clients, lets everything fire, reads all keys, and ends the workers.
func (s *scene) finish(ctx context.Context) error {
	for i, c := range s.configs { // clients first
		if c.Callers == 0 {
			continue
		}
		if c.Callers = 0; !c.Works {
			if err := s.procs[i].Stop(time.Minute); err != nil {
				return fmt.Errorf("%s: %w", s.role(i), err)
			}
			if err := s.over(ctx, s.procs[i]); err != nil {
				return err
			}
			continue
		}
		s.configs[i] = c
		if err := s.deploy(ctx, i); err != nil { // it may interrupt handlers
			return err
		}
	}
	if err := s.read(ctx); err != nil {
		return err
	}
	for i := range s.configs { // also finds the end of a Work
		if err := s.procs[i].Stop(time.Minute); err != nil {
			return fmt.Errorf("%s: %w", s.role(i), err)
		}
	}
	return nil
}

// read waits until all near entries have fired, and writes the rest as final reads.
func (s *scene) read(ctx context.Context) error {
	store, err := s.reads.Open(ctx, false) // a power loss may precede the creation
	if err != nil {
		return err
	}
	defer store.Close()
	works := slices.ContainsFunc(s.configs, func(c Config) bool { return c.Works })
	if works {
		if err := s.awaitEnd(ctx, store); err != nil {
			return err
		}
	}
	if err := store.Verify(ctx); err != nil {
		return err
	}
	begin := now()
	entries, err := s.entries(ctx, store)
	if err != nil {
		return err
	}
	letters, err := letters(ctx, store)
	if err != nil {
		return err
	}
	keys, err := s.keys()
	if err != nil {
		return err
	}
	for key := range entries {
		if !keys[key] {
			return fmt.Errorf("%q is pending, but was never set", key)
		}
	}
	var lines []Record
	add := func(key string, kind Kind, begin int64, outcome Record) {
		number := int64(len(lines))
		outcome.Number, outcome.At = number, now()
		lines = append(lines, Record{Number: number, At: begin, Kind: kind, Key: key}, outcome)
	}
	for key := range keys {
		outcome, ok := entries[key]
		if !ok {
			outcome = Record{Outcome: Absent}
		}
		add(key, Get, begin, outcome)
		if works {
			add(key, list, now(), Record{Outcome: OK, Letters: letters[key]})
		}
	}
	return addLines(filepath.Join(s.dir, reader), lines...)
}

// entries returns the pending entries of clients. It checks the effects, and the entries of the kind
// that no worker handles (promise 8).
func (s *scene) entries(ctx context.Context, store *place.Store) (map[string]Record, error) {
	entries, had, waiting := make(map[string]Record), make(map[string]bool), 0
	for e, err := range store.All(ctx, "") {
		id, isEffect := strings.CutPrefix(e.Key, effectPrefix)
		one := Record{Outcome: OK}
		one.describe(e)
		switch _, twice := entries[e.Key]; {
		case err != nil:
			return nil, err
		case isEffect:
			had[id] = true
		case strings.HasPrefix(e.Key, otherPrefix):
			waiting++
		case twice:
			return nil, fmt.Errorf("%q has two pending entries", e.Key)
		case !isProbe(e.Key):
			entries[e.Key] = one
		}
	}
	if s.others != waiting {
		return nil, fmt.Errorf("of %d entries of a kind that no worker handles, %d are pending", s.others, waiting)
	}
	return entries, s.effects(had)
}

// letters returns the dead letters of clients.
func letters(ctx context.Context, store *place.Store) (map[string][]Letter, error) {
	letters := make(map[string][]Letter)
	for d, err := range store.Dead(ctx, "") {
		if err != nil {
			return nil, err
		}
		if isRecurring(d.Key) {
			return nil, fmt.Errorf("%q had its effect twice: %s", d.Key, d.Error)
		}
		letters[d.Key] = append(letters[d.Key], Letter{Generation: d.Generation, Payload: sum(d.Entry)})
	}
	return letters, nil
}

// awaitEnd waits until all near entries have fired, and ends the series.
func (s *scene) awaitEnd(ctx context.Context, store *place.Store) error {
	err := s.endSeries(ctx, store, time.Minute)
	if err == nil {
		err = awaitFired(ctx, store, "", time.Minute)
	}
	if err == nil {
		_, err = store.CancelMany(ctx, durable.Scope{Prefix: seriesPrefix})
	}
	return err
}

// keys returns the keys of all journals.
func (s *scene) keys() (map[string]bool, error) {
	keys := make(map[string]bool)
	err := readLines(filepath.Join(s.dir, "journal-*"), func(_ string, r Record) {
		if r.Key != "" {
			keys[r.Key] = true
		}
	})
	return keys, err
}

// reader is the name of the journal that holds the final reads.
const reader = "journal-reader"

// awaitFired waits until no entry with the prefix is firing or due within an hour, or until the
// timeout: the judge then finds the entry pending, or neither pending nor fired. An entry that is
// still firing is an error, because the handler has returned.
func awaitFired(ctx context.Context, store *place.Store, prefix string, timeout time.Duration) error {
	for end := time.Now().Add(timeout); ; proc.Sleep(ctx, 100*time.Millisecond) {
		page, err := store.Backend().Page(ctx, prefix, backend.Cursor{}, 2*len(overlaps), true)
		i := slices.IndexFunc(page, func(r backend.Row) bool {
			return r.Due < time.Now().Add(time.Hour).UnixNano() && !strings.HasPrefix(r.Key, otherPrefix)
		})
		switch late := time.Now().After(end); {
		case err != nil, i < 0, late && page[i].State == backend.Pending:
			return err
		case late:
			return fmt.Errorf("%q is still firing after %v", page[i].Key, timeout)
		}
	}
}

// end ends all processes.
func (s *scene) end() {
	for _, p := range s.procs {
		if p != nil {
			resume(p.PID()) // fails only if it has ended
			p.Kill()
		}
	}
}
