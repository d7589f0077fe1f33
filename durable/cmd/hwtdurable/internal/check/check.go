package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// Options are the settings of a check.
type Options struct {
	For  time.Duration // of all scenarios together
	Only string        // name of a scenario; all if empty
	Keep string        // folder in which the files of a failure stay
}

// fault injects one fault, waits for the end, and notes a fault that had an effect.
type fault func(ctx context.Context) error

// scenario is a kind of scene with its faults.
type scenario struct {
	name string
	run  func(ctx context.Context, dir string, d time.Duration) (Report, error)
}

// PostgreSQL takes two thirds of the time.
var scenarios = []scenario{{"sqlite", sqliteFaults}, {"postgres", postgresFaults}}

// Names returns the names of the scenarios.
func Names() (names []string) {
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return names
}

// Report is the result of a scenario.
type Report struct {
	Verdict
	Faults  map[string]int // that had an effect
	Skipped []string       // why faults cannot be injected here
}

// ErrFailed reports that a promise was broken, or that an error ended a scenario.
var ErrFailed = errors.New("the check failed")

// All runs the scenarios and prints their reports.
func All(ctx context.Context, o Options, out io.Writer) error {
	failed := false
	for i, s := range scenarios {
		d := o.For * time.Duration(i+1) / 3
		if o.Only == s.name {
			d = o.For
		} else if o.Only != "" {
			continue
		}
		dir, err := os.MkdirTemp(o.Keep, "check-"+s.name+"-")
		if err != nil {
			return err
		}
		report, err := s.run(ctx, dir, d)
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), os.RemoveAll(dir))
		}
		if errors.Is(err, pgtest.ErrNotInstalled) && o.Only == "" {
			fmt.Fprintf(out, "%s: SKIPPED: %v\n", s.name, err)
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			continue
		}
		report.print(out, s.name)
		bad := err != nil || len(report.Violations) > 0 || report.Undecided > 0
		if err != nil {
			fmt.Fprintf(out, "  FAILED: %v\n", err)
		}
		if failed = failed || bad; bad && o.Keep != "" {
			fmt.Fprintf(out, "  files: %s\n", dir)
		} else if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if failed {
		return ErrFailed
	}
	return nil
}

func (r Report) print(out io.Writer, name string) {
	fmt.Fprintf(out, "%s: %d operations on %d keys, %d without an answer, %d rejected; %d firings, %d repeated with the same ID; %d occurrences; %d violations, %d keys undecided\n",
		name, r.Operations, r.Keys, r.Unknown, r.Rejected, r.Firings, r.Repeats, r.Occurrences, len(r.Violations), r.Undecided)
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(out, "  %5d %s\n", r.Faults[kind], kind)
	}
	for _, reason := range r.Skipped {
		fmt.Fprintf(out, "  SKIPPED: fault: %s\n", reason)
	}
	for _, v := range r.Violations[:min(5, len(r.Violations))] {
		fmt.Fprintf(out, "  VIOLATION: %s\n", v)
	}
}

// play injects random faults for a time, ends the scene, and judges it.
func (s *scene) play(ctx context.Context, d time.Duration, judge Judge, faults []fault) (Report, error) {
	defer s.end()
	stop := s.watch()
	injected, err := s.inject(ctx, d, faults)
	if err == nil {
		err = s.finish(ctx)
	}
	stalls, failed := stop()
	if err = errors.Join(err, failed); err != nil {
		return Report{}, err
	}
	s.faults = append(s.faults, stalls...)
	return s.report(judge, injected)
}

// inject starts the scene, injects each fault once, and then faults at random. It returns the number of
// faults that had an effect.
func (s *scene) inject(ctx context.Context, d time.Duration, faults []fault) (int, error) {
	s.skipped = make(map[string]bool)
	s.longest = min(max(d/15, 3*time.Second), time.Minute)
	if err := s.startAll(ctx); err != nil {
		return 0, err
	}
	if err := s.addSeries(ctx, d); err != nil {
		return 0, err
	}
	rand.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	for begun, turn := time.Now(), 0; time.Since(begun) < d || turn < len(faults); turn++ {
		if !proc.Sleep(ctx, 500*time.Millisecond+rand.N(time.Second)) {
			return 0, ctx.Err()
		}
		i := turn
		if turn >= len(faults) {
			i = rand.IntN(len(faults))
		}
		if err := faults[i](ctx); errors.Is(err, errors.ErrUnsupported) {
			s.skipped[err.Error()] = true
		} else if err != nil {
			return 0, err
		}
	}
	return len(s.faults), nil
}

func (s *scene) report(judge Judge, injected int) (Report, error) {
	r := Report{Faults: make(map[string]int), Skipped: slices.Sorted(maps.Keys(s.skipped))}
	for _, f := range s.faults {
		r.Faults[f.Kind]++
	}
	if err := addLines(filepath.Join(s.dir, "faults"), s.faults...); err != nil { // for the reader of a failure
		return r, err
	}
	var err error
	r.Verdict, err = judge.Read(s.dir, s.faults)
	r.Violations = append(r.Violations, r.gaps()...)
	if injected == 0 {
		r.Violations = append(r.Violations, "no fault had an effect")
	}
	return r, err
}
