// Command compare measures how late timers fire, and what setting, moving and
// cancelling them costs, in package durable, River (PostgreSQL) and asynq (Redis).
// See the script run beside it, which starts what they need.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// rival is a library under comparison.
type rival interface {
	// set stores timers that fire at their due times.
	set(ctx context.Context, timers []timer) error
	// move and cancel work on one timer. They return errUnsupported if the library
	// cannot.
	move(ctx context.Context, n int, due time.Time) error
	cancel(ctx context.Context, n int) error
	// work fires until ctx ends.
	work(ctx context.Context, fired func(due time.Time)) error
	close()
}

type timer struct {
	n   int
	due time.Time
}

func main() {
	postgres := flag.String("postgres", "", "the URL of a PostgreSQL database")
	redis := flag.String("redis", "", "the address of a Redis server")
	rate := flag.Int("rate", 500, "timers due a second")
	length := flag.Duration("for", 10*time.Second, "for how long")
	ops := flag.Int("ops", 2000, "how many to set, move and cancel one after another")
	flag.Parse()
	ctx := context.Background()
	fmt.Printf("%-8s %10s %10s %10s %8s %10s %10s %10s %10s\n", "", "late p50", "p99", "max", "early", "set many", "set", "move", "cancel")
	for _, r := range []struct {
		name string
		open func(ctx context.Context) (rival, error)
	}{
		{"durable", openDurable},
		{"River", func(ctx context.Context) (rival, error) { return openRiver(ctx, *postgres) }},
		{"asynq", func(ctx context.Context) (rival, error) { return openAsynq(*redis) }},
	} {
		if err := measure(ctx, r.name, r.open, *rate, *length, *ops); err != nil {
			fmt.Fprintln(os.Stderr, r.name+":", err)
			os.Exit(1)
		}
	}
}

func measure(ctx context.Context, name string, open func(context.Context) (rival, error), rate int, length time.Duration, ops int) error {
	r, err := open(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	n := int(float64(rate) * length.Seconds())
	start := time.Now().Add(15 * time.Second)
	timers := make([]timer, n)
	for i := range timers {
		timers[i] = timer{i, start.Add(length * time.Duration(i) / time.Duration(n))}
	}
	began := time.Now()
	if err := r.set(ctx, timers); err != nil {
		return err
	}
	many := float64(n) / time.Since(began).Seconds()
	late, err := fire(ctx, r, n, start.Add(length+30*time.Second))
	if err != nil {
		return err
	}
	day := time.Now().Add(24 * time.Hour)
	set, err := each(ops, func(i int) error { return r.set(ctx, []timer{{n + i, day}}) })
	if err != nil {
		return err
	}
	move, err := each(ops, func(i int) error { return r.move(ctx, n+i, day.Add(time.Hour)) })
	if err != nil {
		return err
	}
	cancel, err := each(ops, func(i int) error { return r.cancel(ctx, n+i) })
	if err != nil {
		return err
	}
	early, _ := slices.BinarySearch(late, 0)
	round := func(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }
	fmt.Printf("%-8s %10s %10s %10s %8d %9.0f/s %10s %10s %10s", name, round(late[len(late)/2]), round(late[len(late)*99/100]),
		round(late[len(late)-1]), early, many, set, move, cancel)
	if len(late) < n {
		fmt.Printf("  %d did not fire", n-len(late))
	}
	fmt.Println()
	return nil
}

// fire returns how late the timers fired, sorted.
func fire(ctx context.Context, r rival, n int, limit time.Time) ([]time.Duration, error) {
	ctx, end := context.WithDeadline(ctx, limit)
	defer end()
	var mu sync.Mutex
	var late []time.Duration
	err := r.work(ctx, func(due time.Time) {
		by := time.Since(due)
		mu.Lock()
		defer mu.Unlock()
		if late = append(late, by); len(late) == n {
			end()
		}
	})
	mu.Lock()
	defer mu.Unlock()
	if len(late) == 0 {
		return nil, fmt.Errorf("nothing fired: %w", cmp.Or(err, context.Cause(ctx)))
	}
	slices.Sort(late)
	return late, err
}

// each returns the rate of an operation.
func each(ops int, do func(i int) error) (string, error) {
	began := time.Now()
	for i := range ops {
		if err := do(i); err == errUnsupported {
			return "-", nil
		} else if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%.0f/s", float64(ops)/time.Since(began).Seconds()), nil
}
