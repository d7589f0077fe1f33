// Command schedules compares the schedules of package clock with robfig/cron and
// gocron, and produces a page about them in about fifteen minutes:
//
//	go -C bench run ./schedules --out ../docs
//	go -C bench run ./schedules --quick
package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/bench/internal/harness"
	"github.com/hashedwheel/hwt/internal/cli"
)

// load is the size of a measurement.
type load struct {
	jobs   []int
	rounds int
	span   time.Duration // Of one round.
}

// period is the time between two runs of a job.
const period = 30 * time.Second

var (
	full  = load{[]int{1, 1_000, 100_000}, 5, 10 * time.Second}
	quick = load{[]int{1, 100}, 1, time.Second}
)

func main() {
	harness.Main("schedules", func(child string, fast bool) (string, error) {
		l := full
		if fast {
			l = quick
		}
		if name, jobs, ok := strings.Cut(child, "/"); ok {
			return "", runChild(name, jobs, l.span)
		}
		return l.page()
	})
}

const intro = `# Schedules

This page is written by %[1]sgo -C bench run ./schedules --out ../docs%[1]s. Edit
%[1]sbench/schedules%[1]s to change it. It was measured with %[2]s on %[3]d cores.
`

const costs = `
## Cost

Each job runs an empty function every 30 seconds, and the jobs are spread over that
time. A number is the median of %d rounds of %v, each library in a separate process, in
turn. CPU is that of the whole process once all jobs are scheduled; × is a number over
ours. A core busy all the time is 1,000 ms per second. Only runs within the round count.

`

// page measures, and returns the page.
func (l load) page() (string, error) {
	w := new(strings.Builder)
	fmt.Fprintf(w, intro, "`", runtime.Version(), runtime.GOMAXPROCS(0))
	fmt.Fprintf(w, costs, l.rounds, l.span)
	fmt.Fprintf(w, "| jobs | library | runs, %% of due | CPU to schedule all, ms | CPU, ms per second | × | heap, MB | × |\n|--:|:--|--:|--:|--:|--:|--:|--:|\n")
	for _, jobs := range l.jobs {
		if err := l.rows(w, jobs); err != nil {
			return "", err
		}
	}
	writeCases(w)
	return w.String(), nil
}

// rows measures all libraries with a number of jobs, and writes a row for each.
func (l load) rows(w io.Writer, jobs int) error {
	var sides []string
	for _, r := range rivals {
		sides = append(sides, fmt.Sprintf("%s/%d", r.name, jobs))
	}
	samples, err := harness.Rounds[sample](l.rounds, l.span == quick.span, sides)
	if err != nil {
		return err
	}
	median := func(i int, of func(sample) float64) float64 { return harness.Median(samples[i], of) }
	setUp, cpu, heap := func(s sample) float64 { return s.SetUp }, func(s sample) float64 { return s.CPU }, func(s sample) float64 { return s.HeapMB }
	for i, r := range rivals {
		runs := "–"
		if due := float64(jobs) * l.span.Seconds() / period.Seconds(); due > 1 {
			runs = cli.Number(100 * median(i, func(s sample) float64 { return float64(s.Runs) }) / due)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", cli.Count(int64(jobs)), r.title, runs,
			cli.Number(median(i, setUp)), cli.Number(median(i, cpu)), cli.Number(median(i, cpu)/median(0, cpu)),
			cli.Number(median(i, heap)), cli.Number(median(i, heap)/median(0, heap)))
	}
	return nil
}
