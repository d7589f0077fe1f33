package queues

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	length = flag.Duration("for", 300*time.Millisecond, "length of each measurement")
	rounds = flag.Int("rounds", 1, "rounds over all queues; the page has the medians")
	many   = flag.Int("many", 1000, "jobs that are due in one second")
	out    = flag.String("out", "", "Markdown `file` whose table is to be replaced")
)

const (
	rate    = 1000            // jobs per second
	ahead   = 3 * time.Second // from scheduling to the due time
	callers = 64
)

// queue is one of the compared programs on an empty database.
type queue struct {
	set     func(ctx context.Context, key string, due time.Time) error
	setMany func(ctx context.Context, keys []string, due []time.Time) error
	cancel  func(ctx context.Context, key string) error
	servers func() []int // processes of the database
}

// recorder receives the jobs.
type recorder struct {
	mu    sync.Mutex
	late  []time.Duration
	early int
}

func (r *recorder) fired(due time.Time) {
	late := time.Since(due)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.late = append(r.late, late); late < 0 {
		r.early++
	}
}

func (r *recorder) take() (late []time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	late, r.late = r.late, nil
	return late
}

func (r *recorder) await(t *testing.T, n int) {
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.late) >= n
	}, 10*time.Minute, 5*time.Millisecond)
}

// columns are the measurements in the order of the table.
var columns = []string{"CPU per job, µs", "lateness p50, ms", "lateness p99, ms", "set per second, 64 callers",
	"set per second, batches", "cancelled per second", "burst fired per second", "CPU per job of the burst, µs",
	"fired early, %"}

// measure returns a value for each column.
func measure(t *testing.T, q queue, r *recorder) []float64 {
	var values []float64
	jobs, used := steady(t, q)
	r.await(t, jobs)
	late := r.take()
	slices.Sort(late)
	at := func(share float64) float64 { return late[int(share*float64(len(late)-1))].Seconds() * 1e3 }
	values = append(values, float64(used().Microseconds())/float64(jobs), at(0.5), at(0.99))

	day := time.Now().Add(24 * time.Hour)
	set := concurrently(t, *length, func(i int) error { return q.set(t.Context(), key("far", i), day) })
	began := time.Now()
	n := 0
	for ; time.Since(began) < *length; n += 1000 {
		keys, due := batch("batch", n, 1000, func(int) time.Time { return day })
		require.NoError(t, q.setMany(t.Context(), keys, due))
	}
	perBatch := time.Since(began) / time.Duration(n/1000)
	values = append(values, float64(set)/length.Seconds(), float64(n)/time.Since(began).Seconds())
	began = time.Now()
	cancelled := concurrently(t, *length, func(i int) error {
		if i >= set {
			return errDone
		}
		return q.cancel(t.Context(), key("far", i))
	})
	values = append(values, float64(min(cancelled, set))/time.Since(began).Seconds())

	burst := time.Now().Add(3*time.Second + 3*perBatch*time.Duration(1+*many/1000)).Truncate(time.Second)
	for i := 0; i < *many; i += 1000 {
		keys, due := batch("burst", i, 1000, func(i int) time.Time { return burst.Add(time.Duration(i) * time.Second / time.Duration(*many)) })
		require.NoError(t, q.setMany(t.Context(), keys, due))
	}
	require.Less(t, time.Since(burst), time.Duration(0), "the jobs were due before the last was scheduled")
	time.Sleep(time.Until(burst)) // the servers use the real clock
	before := cpu(q)
	r.await(t, *many)
	values = append(values, float64(*many)/time.Since(burst).Seconds(), float64((cpu(q)-before).Microseconds())/float64(*many))
	return append(values, 100*float64(r.early)/float64(jobs+*many))
}

func key(kind string, i int) string { return fmt.Sprintf("%s-%08d", kind, i) }

func batch(kind string, from, n int, at func(i int) time.Time) (keys []string, due []time.Time) {
	for i := from; i < from+n; i++ {
		keys, due = append(keys, key(kind, i)), append(due, at(i))
	}
	return keys, due
}

// steady schedules jobs at the rate, and returns their number and a function for the CPU
// time since.
func steady(t *testing.T, q queue) (jobs int, used func() time.Duration) {
	begin, before := time.Now(), cpu(q)
	for step := time.Duration(0); step < *length; step += 50 * time.Millisecond {
		time.Sleep(time.Until(begin.Add(step))) // keeps the rate
		keys, due := batch("rate", jobs, rate/20, func(i int) time.Time { return begin.Add(ahead + time.Duration(i)*time.Second/rate) })
		require.NoError(t, q.setMany(t.Context(), keys, due))
		jobs += rate / 20
	}
	return jobs, func() time.Duration { return cpu(q) - before }
}

var errDone = fmt.Errorf("done")

// concurrently calls f from all callers for a time, or until errDone, and returns the
// number of calls.
func concurrently(t *testing.T, d time.Duration, f func(i int) error) int {
	var next atomic.Int64
	var all sync.WaitGroup
	end := time.Now().Add(d)
	for range callers {
		all.Go(func() {
			for time.Now().Before(end) {
				if err := f(int(next.Add(1)) - 1); err == errDone {
					return
				} else if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return int(next.Load())
}

// cpu returns the CPU time of this process and of the database.
func cpu(q queue) (used time.Duration) {
	for _, pid := range append(q.servers(), os.Getpid()) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // its time is its parent's now
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+2:]))
		for _, field := range fields[11:15] { // own and ended children's time, in units of 10 ms
			n, _ := strconv.Atoi(field)
			used += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return used
}

// TestComparison measures every queue in turn, round by round.
func TestComparison(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("measures for long, and reads CPU times from /proc")
	}
	commit, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	require.NoError(t, err)
	results := make(map[string][][]float64)
	for round := range *rounds {
		for _, c := range rivals {
			t.Run(fmt.Sprintf("%s/%d", c.name, round), func(t *testing.T) {
				r := &recorder{}
				q := c.open(t, r)
				values := measure(t, q, r)
				t.Logf("%.4g", values)
				results[c.name] = append(results[c.name], values)
			})
		}
	}
	if *out != "" && !t.Failed() {
		require.NoError(t, replace(*out, string(bytes.TrimSpace(commit)), table(results)))
	}
}

func table(results map[string][][]float64) string {
	var b strings.Builder
	b.WriteString("| |")
	for _, c := range rivals {
		fmt.Fprintf(&b, " %s |", c.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(rivals)) + "\n")
	for i, column := range columns {
		fmt.Fprintf(&b, "| %s |", column)
		for _, c := range rivals {
			var values []float64
			for _, round := range results[c.name] {
				values = append(values, round[i])
			}
			if len(values) == 0 {
				b.WriteString(" |")
				continue
			}
			slices.Sort(values)
			fmt.Fprintf(&b, " %s |", number(values[len(values)/2]))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// number has two significant digits, or none after the point.
func number(v float64) string {
	switch {
	case v < 0: // lateness of jobs that fired early
		return "-" + number(-v)
	case v == 0:
		return "0"
	case v < 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	digits := strconv.FormatFloat(v, 'g', 2, 64)
	rounded, _ := strconv.ParseFloat(digits, 64)
	return strconv.FormatFloat(rounded, 'f', 0, 64)
}

const begin, end = "<!-- begin -->\n", "<!-- end -->\n"

// replace puts a table between the marks of a page, below a line with its origin.
func replace(path, commit, table string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(page), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no marks", path)
	}
	loads, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(loads), " ")
	origin := fmt.Sprintf("Commit %s, %d processors, load average %s at the end, medians of %d rounds of %v, %d jobs in the burst.\n\n",
		commit, runtime.NumCPU(), load, *rounds, *length, *many)
	return os.WriteFile(path, []byte(head+begin+origin+table+end+tail), 0o600)
}
