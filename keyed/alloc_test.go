package keyed_test

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/keyed"
)

func TestAllocations(t *testing.T) {
	timer := newTimer(t, 512)
	w, err := keyed.New(timer, func(string, *int) {}, nil)
	require.NoError(t, err)
	value := new(int)
	require.NoError(t, w.Set("known", value, time.Hour))
	for name, c := range map[string]struct {
		allocs float64
		f      func()
	}{
		"Move":           {0, func() { w.Move("known", time.Hour) }},
		"Move unknown":   {0, func() { w.Move("unknown", time.Hour) }},
		"Get":            {0, func() { w.Get("known") }},
		"Has":            {0, func() { w.Has("unknown") }},
		"Set known":      {0, func() { w.Set("known", value, time.Hour) }},
		"Set and Delete": {1, func() { w.Set("new", value, time.Hour); w.Delete("new") }},
		"Due":            {0, func() { w.Due("known") }},
		"Update":         {1, func() { w.Update("known", func(v *int) *int { return v }) }},
		"SetIfSooner":    {0, func() { w.SetIfSooner("known", value, 2*time.Hour) }},
		"Len":            {0, func() { w.Len() }},
	} {
		assert.InDelta(t, c.allocs, testing.AllocsPerRun(1000, c.f), 0.1, name)
	}
}

func TestKeysOfAnyTypeAllocateNothing(t *testing.T) {
	type point struct {
		name string
		at   float64
	}
	t.Run("float", func(t *testing.T) { testKeyAllocatesNothing(t, 1.5) })
	t.Run("complex", func(t *testing.T) { testKeyAllocatesNothing(t, 1i) })
	t.Run("struct", func(t *testing.T) { testKeyAllocatesNothing(t, point{"a", 1}) })
	t.Run("array", func(t *testing.T) { testKeyAllocatesNothing(t, [2]any{1000, "a"}) })
	t.Run("any", func(t *testing.T) { testKeyAllocatesNothing[any](t, 1000) })
	t.Run("any, struct", func(t *testing.T) { testKeyAllocatesNothing[any](t, point{"a", 1}) })
}

func testKeyAllocatesNothing[K comparable](t *testing.T, key K) {
	w, err := keyed.New(newTimer(t, 512), func(K, int) {}, nil)
	require.NoError(t, err)
	require.NoError(t, w.Set(key, 1, time.Hour))
	for name, f := range map[string]func(){
		"Get":         func() { w.Get(key) },
		"Has":         func() { w.Has(key) },
		"Due":         func() { w.Due(key) },
		"Move":        func() { w.Move(key, time.Hour) },
		"Set known":   func() { w.Set(key, 2, time.Hour) },
		"SetIfAbsent": func() { w.SetIfAbsent(key, 2, time.Hour) },
	} {
		assert.Zero(t, testing.AllocsPerRun(100, f), name)
	}
	w.Delete(key)
	assert.Zero(t, testing.AllocsPerRun(100, func() { w.Delete(key) }), "Delete unknown")
}

func TestSizes(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the sizes are those of 64 bits")
	}
	word := unsafe.Sizeof(uintptr(0))
	event := unsafe.Sizeof(hwt.Event{})
	assert.Equal(t, event+word+8, keyed.PairSize)
	assert.Equal(t, event+2*word, keyed.NamedSize)
}

// TestHeapOfAPendingKey measures the map right after it has grown, when it is emptiest.
func TestHeapOfAPendingKey(t *testing.T) {
	if testing.Short() {
		t.Skip("holds 20 MB")
	}
	const n, most = 130_000, 95
	timer := fineTimer(t)
	timer.Start()
	value := new(int)
	before := heap()
	w, err := keyed.New(timer, func(int64, *int) {}, nil)
	require.NoError(t, err)
	for key := range int64(n) {
		require.NoError(t, w.Set(key, value, time.Hour+time.Duration(key)*time.Microsecond))
	}
	time.Sleep(20 * time.Millisecond) // transferred
	each := float64(heap()-before) / n
	assert.Less(t, each, float64(most), "bytes of heap per pending key")
	t.Logf("%.1f bytes per pending key", each)
	w.Close()
	runtime.KeepAlive(w)
}

// TestDrainedPairTakesNoMemory needs the real heap.
func TestDrainedPairTakesNoMemory(t *testing.T) {
	const n = 20_000
	w, err := keyed.New(fineTimer(t), func(int64, *int) {}, nil)
	require.NoError(t, err)
	before := heap()
	for key := range int64(n) {
		require.NoError(t, w.Set(key, nil, time.Hour))
	}
	require.NoError(t, w.Drain(func(keyed.Entry[int64, *int]) {}))
	assert.Eventually(t, func() bool { // after the worker has discarded the cancelled timeouts
		return float64(heap()-before)/n < 8
	}, 10*time.Second, 10*time.Millisecond, "bytes of heap per drained pair")
	w.Close()
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
