package check

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

var cuts = flag.Int("cuts", 0, "number of power losses in TestPowerLoss; 0 means a few")

// TestPowerLoss cuts records with a sync for every commit, and with syncs every 100 ms.
func TestPowerLoss(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	n, recording := *cuts, 10*time.Second
	if n == 0 {
		n, recording = 20, time.Second
		t.Logf("use -cuts=1000 for the long form")
	}
	for name, full := range map[string]bool{"FULL": true, "NORMAL": false} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			p := &power{dir: filepath.Join(dir, "store"), full: full}
			require.NoError(t, p.record(t.Context(), recording))
			operations := 0
			for range n {
				v, err := p.cut(t.Context())
				require.NoError(t, err)
				require.Empty(t, v.Violations)
				require.Zero(t, v.Undecided)
				operations += v.Operations
			}
			require.NotZero(t, operations)
			t.Logf("%d cuts of %d system calls, %d operations judged", n, len(p.calls), operations)
		})
	}
}

// A record of syncs every 100 ms, judged as one of a sync for every commit, has violations.
func TestPowerLossFindsUnsyncedCommits(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	p := &power{dir: filepath.Join(dir, "store")}
	require.NoError(t, p.record(t.Context(), time.Second))
	p.full = true
	for range 100 {
		v, err := p.cut(t.Context())
		require.NoError(t, err)
		if len(v.Violations) > 0 {
			return
		}
	}
	t.Fatal("100 cuts of an unsynced store lost nothing")
}

// record runs a client under strace and kills it.
func (p *power) record(ctx context.Context, d time.Duration) error {
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return err
	}
	where := place.Place{File: filepath.Join(p.dir, storeFile), Normal: !p.full}
	trace := p.dir + ".trace"
	process, err := proc.Start(ctx, "check", Config{Place: where, Dir: p.dir, Callers: 8, Keys: 48, Far: true}, traced(trace)...)
	if err != nil {
		return err
	}
	proc.Sleep(ctx, d)
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
