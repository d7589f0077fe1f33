package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/place"
	"github.com/hashedwheel/hwt/durable/cmd/hwtdurable/internal/proc"
)

// Power loss: a process is recorded by strace. For random cuts of the record, the files
// are rebuilt as a disk may hold them then: everything that was synced, and any part of
// the writes since. The store is opened on these files and compared with the answers that
// the journal, which is in the same record, had by the cut.

// power is a record of a process.
type power struct {
	dir   string
	calls []*call
	lines int
	full  bool // every commit is synced
}

const (
	storeFile  = "store.db"
	sectorSize = 512
	memory     = "/dev/shm"
)

// powerLoss tries cuts with a sync for every commit, and with syncs every 100 ms.
func powerLoss(ctx context.Context, dir string, d time.Duration) (Report, error) {
	report := Report{Faults: make(map[string]int)}
	if _, err := exec.LookPath("strace"); err != nil {
		return report, nil // no fault, and no claim
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return report, err
	}
	for _, full := range []bool{true, false} {
		p := &power{dir: filepath.Join(dir, fmt.Sprint("full-", full)), full: full}
		if err := p.record(ctx, min(d/4, 20*time.Second)); err != nil {
			return report, err
		}
		name := map[bool]string{true: "power loss, FULL", false: "power loss, NORMAL"}[full]
		for end := time.Now().Add(d / 4); time.Now().Before(end); {
			v, err := p.cut(ctx)
			report.Faults[name]++
			report.Operations += v.Operations
			report.Unknown += v.Unknown
			report.Keys, report.Undecided = max(report.Keys, v.Keys), report.Undecided+v.Undecided
			report.Violations = append(report.Violations, v.Violations...)
			if err != nil || len(v.Violations) > 0 || ctx.Err() != nil {
				return report, err
			}
		}
	}
	return report, nil
}

// record runs a client under strace and kills it.
func (p *power) record(ctx context.Context, d time.Duration) error {
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return err
	}
	where := place.Place{File: filepath.Join(p.dir, storeFile), Normal: !p.full}
	trace := p.dir + ".trace"
	process, err := proc.Start("check", Config{Place: where, Dir: p.dir, Callers: 8, Keys: 48, Far: true, Timeout: time.Minute}, traced(trace)...)
	if err != nil {
		return err
	}
	sleep(ctx, d)
	if err := killChildren(process.PID()); err != nil {
		return errors.Join(err, process.Stop(time.Minute))
	}
	<-process.Ended()
	p.calls, p.lines, err = readTrace(trace, p.dir)
	if err == nil && len(p.calls) < 100 {
		err = fmt.Errorf("%s has %d calls (expected: 100 or more)", trace, len(p.calls))
	}
	return errors.Join(err, os.Remove(trace))
}

// killChildren kills the processes that a process has started.
func killChildren(pid int) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, child := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(child)
		if err != nil {
			return err
		}
		if err := kill(n); err != nil {
			return err
		}
	}
	return err
}

// cut rebuilds the files at a random line, opens the store, and judges it.
func (p *power) cut(ctx context.Context) (Verdict, error) {
	at := p.lines/20 + rand.IntN(p.lines*19/20)
	parent := p.dir
	if info, err := os.Stat(memory); err == nil && info.IsDir() {
		parent = memory // where syncs cost nothing
	}
	dir, err := os.MkdirTemp(parent, "check-cut-")
	if err != nil {
		return Verdict{}, err
	}
	for _, name := range []string{storeFile, storeFile + "-wal"} {
		if content := p.rebuild(name, at); content != nil {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				return Verdict{}, err
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "journal-1"), p.journal(at), 0o600); err != nil {
		return Verdict{}, err
	}
	s := &scene{dir: dir, reads: place.Place{File: filepath.Join(dir, storeFile)}}
	if err := s.read(ctx); err != nil {
		os.RemoveAll(dir)
		return Verdict{}, fmt.Errorf("cut at line %d of %d: %w", at, p.lines, err)
	}
	v, err := Judge{}.Read(dir, nil)
	if err == nil && len(v.Violations) > 0 {
		v.Violations = append(v.Violations, fmt.Sprintf("cut at line %d of %d", at, p.lines))
	}
	return v, errors.Join(err, os.RemoveAll(dir))
}

// rebuild returns the content of a file that a disk may have at a line, or nil if the
// file may be missing. Calls that a later sync covers are in it. Each other one is, is
// not, or is in part.
func (p *power) rebuild(name string, at int) []byte {
	var calls []*call
	for _, c := range p.calls {
		if c.file == name && c.begin < at {
			calls = append(calls, c)
		}
	}
	synced := p.lastSync(calls, at)
	keep := rand.Float64() // of this cut
	switch rand.IntN(4) {
	case 0:
		keep = 0
	case 1:
		keep = 1
	}
	var content []byte
	for _, c := range calls {
		if c.end < synced {
			content = c.apply(content, 1)
		} else if rand.Float64() < keep {
			content = c.apply(content, cmp.Or(float64(rand.IntN(2)), rand.Float64()))
		}
	}
	return content
}

// lastSync returns the line at which the last sync that returned before a line began.
func (p *power) lastSync(calls []*call, at int) int {
	for _, c := range slices.Backward(calls) {
		if (c.name == "fsync" || c.name == "fdatasync") && c.end < at {
			return c.begin
		}
	}
	return 0
}

// apply applies a write or a truncation to content. Of a write, each sector arrives with
// the given probability.
func (c *call) apply(content []byte, sectors float64) []byte {
	switch c.name {
	case "ftruncate":
		return resize(content, int(c.offset))
	case "pwrite64":
		for i := 0; i < len(c.data); i += sectorSize {
			if sectors < 1 && rand.Float64() >= sectors {
				continue
			}
			part := c.data[i:min(i+sectorSize, len(c.data))]
			start := int(c.offset) + i
			content = resize(content, max(len(content), start+len(part)))
			copy(content[start:], part)
		}
	}
	return content
}

func resize(content []byte, n int) []byte {
	if n <= len(content) {
		return content[:n]
	}
	return append(content, make([]byte, n-len(content))...)
}

// journal returns the lines that the process had written by a line. If commits are not
// synced one by one, answers after the last sync of the log count for nothing.
func (p *power) journal(at int) []byte {
	answered := at
	if !p.full {
		var log []*call
		for _, c := range p.calls {
			if c.file == storeFile+"-wal" && c.begin < at {
				log = append(log, c)
			}
		}
		answered = p.lastSync(log, at)
	}
	var text []byte
	for _, c := range p.calls {
		if c.name != "write" || !strings.HasPrefix(c.file, "journal-") || c.begin >= at {
			continue
		}
		if intent := strings.Contains(string(c.data), `"op":`); intent || c.end < answered {
			text = append(text, c.data...)
		}
	}
	return text
}
