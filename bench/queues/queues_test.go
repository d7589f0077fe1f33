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

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

var (
	length = flag.Duration("for", 300*time.Millisecond, "length of each measurement")
	rounds = flag.Int("rounds", 1, "rounds over all queues; the page has the medians")
	many   = flag.Int("many", 1000, "jobs that are due at the same instant, in the test Burst")
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
	servers func() []int  // processes of the database
	pool    *pgxpool.Pool // of PostgreSQL, or nil
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

// columns are the measurements of compare, in the order of its table.
var columns = []string{"CPU per job, µs", "lateness p50, ms", "lateness p99, ms", "set per second, 64 callers",
	"set per second, batches", "cancelled per second", "fired early, %"}

// compare returns a value for each of columns.
func compare(t *testing.T, q queue, r *recorder) []float64 {
	jobs, used := steady(t, q)
	r.await(t, jobs)
	values := []float64{float64(used().Microseconds()) / float64(jobs)}
	values = append(values, lateness(r, 0.5, 0.99)...)

	day := time.Now().Add(24 * time.Hour)
	set := concurrently(t, *length, func(i int) error { return q.set(t.Context(), key("far", i), day) })
	began := time.Now()
	n := 0
	for ; time.Since(began) < *length; n += 1000 {
		keys, due := batch("batch", n, 1000, func(int) time.Time { return day })
		require.NoError(t, q.setMany(t.Context(), keys, due))
	}
	values = append(values, float64(set)/length.Seconds(), float64(n)/time.Since(began).Seconds())
	began = time.Now()
	cancelled := concurrently(t, *length, func(i int) error {
		if i >= set {
			return errDone
		}
		return q.cancel(t.Context(), key("far", i))
	})
	values = append(values, float64(min(cancelled, set))/time.Since(began).Seconds())
	return append(values, 100*float64(r.early)/float64(jobs))
}

// lateness returns quantiles of the lateness of the jobs that r has received, in milliseconds.
func lateness(r *recorder, shares ...float64) (values []float64) {
	late := r.take()
	slices.Sort(late)
	for _, share := range shares {
		values = append(values, late[int(share*float64(len(late)-1))].Seconds()*1e3)
	}
	return values
}

// burstColumns are the measurements of burst.
var burstColumns = []string{"fired per second", "CPU per job, µs", "lateness p50, ms"}

// burst schedules jobs that are all due at the same instant.
func burst(t *testing.T, q queue, r *recorder) []float64 {
	began, tries := time.Now(), 5
	for i := range tries {
		keys, times := batch("far", 1000*i, 1000, func(int) time.Time { return began.Add(24 * time.Hour) })
		require.NoError(t, q.setMany(t.Context(), keys, times))
	}
	perBatch := time.Since(began) / time.Duration(tries)
	due := time.Now().Add(3*time.Second + 2*perBatch*time.Duration(*many)/1000).Truncate(time.Second)
	for i := 0; i < *many; i += 1000 {
		keys, times := batch("burst", i, min(1000, *many-i), func(int) time.Time { return due })
		require.NoError(t, q.setMany(t.Context(), keys, times))
	}
	require.Less(t, time.Since(due), time.Duration(0), "the jobs were due before the last was scheduled")
	time.Sleep(time.Until(due)) // the servers use the real clock
	before := cpu(q)
	r.await(t, *many)
	jobs := float64(*many)
	return append([]float64{jobs / time.Since(due).Seconds(), float64((cpu(q) - before).Microseconds()) / jobs}, lateness(r, 0.5)...)
}

// snapshotColumns are the measurements of snapshot.
var snapshotColumns = []string{"lateness p50, ms", "lateness p99, ms", "worst lateness, ms", "dead rows",
	"p50 while a snapshot is open, ms", "p99 while a snapshot is open, ms", "worst while a snapshot is open, ms", "dead rows while a snapshot is open"}

// snapshot fires jobs at the rate, first without and then with an open snapshot, which keeps PostgreSQL
// from removing dead rows.
func snapshot(t *testing.T, q queue, r *recorder) (values []float64) {
	if q.pool == nil {
		t.Skip("only PostgreSQL keeps dead rows for snapshots")
	}
	round := func() {
		jobs, _ := steady(t, q)
		r.await(t, jobs)
		values = append(values, lateness(r, 0.5, 0.99, 1)...)
		var dead float64
		require.NoError(t, q.pool.QueryRow(t.Context(), "SELECT sum(n_dead_tup)::float8 FROM pg_stat_user_tables").Scan(&dead))
		values = append(values, dead)
	}
	round()
	tx, err := q.pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer tx.Rollback(context.Background()) // it only reads
	_, err = tx.Exec(t.Context(), "SELECT FROM pg_class")
	require.NoError(t, err)
	round()
	return values
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

func TestComparison(t *testing.T) { measure(t, "comparison", length.String(), columns, compare) }
func TestSnapshot(t *testing.T) {
	measure(t, "snapshot", length.String()+" without and with the snapshot", snapshotColumns, snapshot)
}
func TestBurst(t *testing.T) {
	measure(t, "burst", fmt.Sprintf("%d jobs", *many), burstColumns, burst)
}

// measure calls f for every queue in turn, round by round. It replaces the table between the marks of the
// page that have the name.
func measure(t *testing.T, name, size string, columns []string, f func(*testing.T, queue, *recorder) []float64) {
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
				values := f(t, c.open(t, r), r)
				t.Logf("%.4g", values)
				results[c.name] = append(results[c.name], values)
			})
		}
	}
	if *out != "" && !t.Failed() {
		origin := fmt.Sprintf("Commit %s, %s, %d processors, load average %s at the end, medians (rounds: %d) of %s.\n\n",
			bytes.TrimSpace(commit), time.Now().Format(time.DateOnly), runtime.NumCPU(), loadAverage(), *rounds, size)
		require.NoError(t, replace(*out, name, origin+table(columns, results)))
	}
}

// table has a column for each queue with results.
func table(columns []string, results map[string][][]float64) string {
	head, line := "| |", "|---|"
	lines := make([]string, len(columns))
	for i := range columns {
		lines[i] = fmt.Sprintf("| %s |", columns[i])
	}
	for _, c := range rivals {
		if len(results[c.name]) == 0 {
			continue
		}
		head += " " + c.name + " |"
		line += "--:|"
		for i := range columns {
			var values []float64
			for _, round := range results[c.name] {
				values = append(values, round[i])
			}
			slices.Sort(values)
			lines[i] += " " + number(values[len(values)/2]) + " |"
		}
	}
	return head + "\n" + line + "\n" + strings.Join(lines, "\n") + "\n"
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

func loadAverage() string {
	loads, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(loads), " ")
	return load
}

// replace puts text between the marks of a page that have the name.
func replace(path, name, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->\n"
	head, rest, ok := strings.Cut(string(page), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no marks %q", path, name)
	}
	return os.WriteFile(path, []byte(head+begin+text+end+tail), 0o600)
}
