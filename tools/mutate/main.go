// Command mutate checks that the tests find defects. It breaks a copy of the library in
// one place at a time, and runs the tests that must fail. Each mutant breaks a numbered
// rule or a promise. The exit status is 1 if a mutant survives. From the repository's root:
//
//	go -C tools run ./mutate             # all mutants, in half an hour or so
//	go -C tools run ./mutate -only stop  # those that mention stop
//	go -C tools run ./mutate -list       # their names
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	only := flag.String("only", "", "take the mutants whose file or promise contains this `text`")
	jobs := flag.Int("jobs", min(runtime.NumCPU(), 4), "mutants that are tried in parallel")
	list := flag.Bool("list", false, "only list the mutants")
	flag.Parse()
	if flag.NArg() > 0 || *jobs < 1 {
		flag.Usage()
		os.Exit(2)
	}

	chosen, err := choose(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
	if *list {
		for _, m := range chosen {
			fmt.Printf("%s: %s\n", m.file, m.breaks)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := try(ctx, "..", chosen, *jobs, 10*time.Minute); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// choose returns the mutants that mention text.
func choose(text string) (chosen []mutant, err error) {
	all, err := mutants()
	for _, m := range all {
		if strings.Contains(strings.ToLower(m.file+" "+m.breaks), strings.ToLower(text)) {
			chosen = append(chosen, m)
		}
	}
	return chosen, err
}

// try tries the mutants and prints the fate of each. It returns an error unless all were
// caught. It ends early with ctx.
func try(ctx context.Context, root string, all []mutant, jobs int, patience time.Duration) error {
	if len(all) == 0 {
		return fmt.Errorf("no mutant has that text")
	}
	began := time.Now()
	trees := make([]*tree, jobs)
	for i := range trees {
		t, err := copyTree(ctx, root, patience)
		if err != nil {
			return err
		}
		defer t.remove()
		trees[i] = t
	}
	took, err := trees[0].sound(all)
	if err != nil {
		return err
	}
	for _, t := range trees {
		t.took = took
	}
	verdicts := make(map[fate]int)
	for v := range tryEach(ctx, trees, all) {
		verdicts[v.fate]++
		fmt.Println(v)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	caught := verdicts[failed] + verdicts[crashed] + verdicts[hung]
	fmt.Printf("\n%d of %d mutants caught (%d by a failing test, %d by a crash, %d by a hang) in %v\n",
		caught, len(all), verdicts[failed], verdicts[crashed], verdicts[hung], time.Since(began).Round(time.Second))
	if caught != len(all) {
		return fmt.Errorf("%d survived, %d could not be tried", verdicts[survived], verdicts[invalid])
	}
	return nil
}

// tryEach tries all, one after another in each tree.
func tryEach(ctx context.Context, trees []*tree, all []mutant) <-chan verdict {
	todo, verdicts := make(chan mutant), make(chan verdict)
	var workers sync.WaitGroup
	for _, t := range trees {
		workers.Go(func() {
			for m := range todo {
				if v := t.try(m); ctx.Err() == nil {
					verdicts <- v
				}
			}
		})
	}
	go func() {
		for _, m := range all {
			if ctx.Err() == nil {
				todo <- m
			}
		}
		close(todo)
		workers.Wait()
		close(verdicts)
	}()
	return verdicts
}
