// Package measure has the measurements whose results stand in the README.
package measure

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable/postgres/pgtest"
)

// Settings are those of the private PostgreSQL server.
var Settings = map[string]string{"shared_buffers": "512MB", "max_wal_size": "4GB", "max_connections": "200"}

// cpu returns the processor time of this process and of the server's processes.
func cpu(server *pgtest.Server) (used time.Duration) {
	pids := []int{os.Getpid()}
	if server != nil {
		pids = append(pids, server.PID())
		for pid := range server.Children() {
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		used += processTime(pid)
	}
	return used
}

// tick is the unit of processor times in /proc.
const tick = 10 * time.Millisecond

// processTime returns the processor time of a process and its ended children, or 0 where
// /proc does not exist.
func processTime(pid int) (used time.Duration) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	for i := 11; i < 15 && i < len(fields); i++ {
		n, _ := strconv.Atoi(fields[i]) // the kernel writes numbers
		used += time.Duration(n) * tick
	}
	return used
}

// percentiles describes durations.
func percentiles(d []time.Duration) string {
	if len(d) == 0 {
		return "none"
	}
	return fmt.Sprintf("p50 %v, p99 %v, p99.9 %v, max %v",
		percentile(d, 0.5), percentile(d, 0.99), percentile(d, 0.999), percentile(d, 1))
}

// percentile sorts durations, of which there is one at least.
func percentile(d []time.Duration, share float64) time.Duration {
	slices.Sort(d)
	return d[min(int(share*float64(len(d))), len(d)-1)].Round(10 * time.Microsecond)
}
