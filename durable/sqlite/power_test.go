package sqlite

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/durable"
)

var cuts = flag.Int("cuts", 0, "number of power losses in the power tests; 0 means a few")

// event is an entry of a recording: a change of a file, or a step of a call.
type event struct {
	file string // "" for a step of a call
	kind string // "write", "truncate", "sync", "delete"; "intent", "result"
	at   int64  // offset or size; due time of a call, or 0 for a cancel
	data []byte
	from int // index in the recording when a sync began

	key        string
	generation uint64
}

// recorder is a file system for SQLite that records all changes.
type recorder struct {
	vfs.VFSFilename

	mu     sync.Mutex
	events []event // Guarded by mu.
}

func (r *recorder) add(e event) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	return len(r.events)
}

func (r *recorder) length() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

func (r *recorder) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, out, err := r.VFSFilename.OpenFilename(name, flags)
	if err != nil || name == nil {
		return f, out, err
	}
	return &recorded{f, r, filepath.Base(name.String()), vfs.NewSharedMemory(name.String()+"-shm", flags)}, out, nil
}

func (r *recorder) Delete(name string, syncDir bool) error {
	r.add(event{file: filepath.Base(name), kind: "delete"})
	return r.VFSFilename.Delete(name, syncDir)
}

// recorded is a file of a recorder. Its Sync does not wait for the disk.
type recorded struct {
	vfs.File
	r    *recorder
	name string
	shm  vfs.SharedMemory
}

func (f *recorded) WriteAt(p []byte, at int64) (int, error) {
	f.r.add(event{file: f.name, kind: "write", at: at, data: slices.Clone(p)})
	return f.File.WriteAt(p, at)
}

func (f *recorded) Truncate(size int64) error {
	f.r.add(event{file: f.name, kind: "truncate", at: size})
	return f.File.Truncate(size)
}

func (f *recorded) Sync(vfs.SyncFlag) error {
	f.r.add(event{file: f.name, kind: "sync", from: f.r.length()})
	return nil
}

func (f *recorded) Close() error {
	if f.shm != nil {
		f.shm.Close()
	}
	return f.File.Close()
}

func (f *recorded) SharedMemory() vfs.SharedMemory { return f.shm }

const sector = 512

// after returns the files after a power loss: all changes that were synced, and any part
// of the others.
func after(events []event, rng *rand.Rand) map[string][]byte {
	synced := make(map[string]int)
	for _, e := range events {
		if e.kind == "sync" {
			synced[e.file] = e.from
		}
	}
	files := make(map[string][]byte)
	for i, e := range events {
		if e.file == "" || e.kind == "sync" {
			continue
		}
		content := files[e.file]
		data := e.data
		if i >= synced[e.file] && e.kind != "delete" { // Open has synced the directory
			switch rng.IntN(4) {
			case 0:
				continue
			case 1:
				data = data[:rng.IntN(len(data)/sector+1)*sector]
			}
		}
		switch e.kind {
		case "write":
			if end := e.at + int64(len(data)); int64(len(content)) < end {
				content = append(content, make([]byte, end-int64(len(content)))...)
			}
			copy(content[e.at:], data)
		case "truncate":
			content = append(content, make([]byte, max(0, e.at-int64(len(content))))...)[:e.at]
		case "delete":
			delete(files, e.file)
			continue
		}
		files[e.file] = content
	}
	return files
}

// version is the state of a key after a call.
type version struct {
	due        int64 // 0 without a pending entry
	generation uint64
}

// allowed returns the versions that each key may have after a loss behind the last event:
// that of its last durable call, and those of all calls after it. A call is durable when it
// has returned, or, with an interval, when a sync of the log that began later has ended.
func allowed(events []event, interval bool) map[string][]version {
	durable := len(events)
	if interval {
		durable = 0
		for _, e := range events {
			if e.kind == "sync" && e.file == "timers.db-wal" {
				durable = max(durable, e.from)
			}
		}
	}
	all := make(map[string][]version)
	intent := make(map[string]bool)
	for i, e := range events {
		switch {
		case e.kind == "intent":
			if all[e.key] == nil {
				all[e.key] = []version{{}}
			}
			all[e.key] = append(all[e.key], version{due: e.at})
			intent[e.key] = true
		case e.kind == "result":
			versions := all[e.key]
			versions[len(versions)-1].generation = e.generation
			if i < durable {
				all[e.key] = versions[len(versions)-1:]
			}
		}
	}
	return all
}

// record runs concurrent calls on a recorded store, and returns the recording. Each key
// belongs to one goroutine, so that its calls are in order.
func record(t *testing.T, interval time.Duration, calls int) []event {
	r := &recorder{VFSFilename: vfs.Find("").(vfs.VFSFilename)}
	name := fmt.Sprintf("record-%p", r)
	vfs.Register(name, r)
	defer vfs.Unregister(name)
	path := filepath.Join(t.TempDir(), "timers.db")
	s, err := Open(t.Context(), path, &Options{vfs: name, checkpoint: 50, SyncEvery: interval, sync: func(log *os.File) error {
		from := r.length()
		r.add(event{file: filepath.Base(log.Name()), kind: "sync", from: from})
		return nil
	}})
	require.NoError(t, err)
	var callers sync.WaitGroup
	for g := range 8 {
		callers.Go(func() {
			ctx := context.Background()
			for i := range calls / 8 {
				key := fmt.Sprintf("k%d-%d", g, i%5)
				due := int64(4e18) + rand.Int64N(1e12)
				var e durable.Entry
				var err error
				if _, missing := s.Get(ctx, key); missing == nil && i%3 == 0 {
					r.add(event{kind: "intent", key: key})
					_, err = s.Cancel(ctx, key)
				} else {
					r.add(event{kind: "intent", key: key, at: due})
					e, err = s.Set(ctx, durable.Entry{Key: key, Due: time.Unix(0, due), Payload: make([]byte, rand.IntN(600))})
				}
				if err != nil {
					t.Error(err)
					return
				}
				r.add(event{kind: "result", key: key, generation: e.Generation})
				if interval > 0 {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	callers.Wait()
	r.mu.Lock()
	events := slices.Clone(r.events)
	r.mu.Unlock()
	require.NoError(t, s.Close())
	return events
}

// TestPowerLossKeepsSyncedCalls cuts recordings at random points.
func TestPowerLossKeepsSyncedCalls(t *testing.T) {
	n := *cuts
	if n == 0 {
		n = 60
		if testing.Short() {
			n = 15
		}
		t.Logf("use -cuts=1000 for the long form")
	}
	for name, interval := range map[string]time.Duration{"each commit": 0, "interval": 10 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			var events []event
			opened := 0
			for i := range n {
				if i%100 == 0 {
					events = record(t, interval, 600)
					opened = slices.IndexFunc(events, func(e event) bool { return e.kind == "result" })
				}
				seed := rand.Uint64()
				rng := rand.New(rand.NewPCG(seed, 1))
				cut := events[:opened+rng.IntN(len(events)-opened)]
				compareAfter(t, after(cut, rng), allowed(cut, interval > 0), fmt.Sprintf("seed %d, cut at %d of %d", seed, len(cut), len(events)))
			}
		})
	}
}

// compareAfter opens the files of a power loss and compares every key.
func compareAfter(t *testing.T, files map[string][]byte, keys map[string][]version, about string) {
	dir := t.TempDir()
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	s, err := Open(t.Context(), filepath.Join(dir, "timers.db"), &Options{MustExist: true})
	require.NoError(t, err, about)
	require.NoError(t, s.Verify(t.Context()), about)
	found := make(map[string]version)
	for e, err := range s.All(t.Context(), "") {
		require.NoError(t, err, about)
		found[e.Key] = version{e.Due.UnixNano(), e.Generation}
	}
	require.NoError(t, s.Close())
	for key, versions := range keys {
		have := found[key]
		ok := slices.ContainsFunc(versions, func(v version) bool {
			return v.due == have.due && (v.generation == have.generation || v.generation == 0 || have.due == 0)
		})
		require.True(t, ok, "%s: key %s is %+v (expected: one of %+v)", about, key, have, versions)
		delete(found, key)
	}
	require.Empty(t, slices.Collect(maps.Keys(found)), about)
	os.RemoveAll(dir)
}
