package leak_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/leak"
)

func TestReportReadsAsText(t *testing.T) {
	report := leak.Report{
		Type: "hashedwheel.Timer", ReleaseMethod: "Stop",
		Created: leak.Stack{
			{Function: "hashedwheel.New", File: "/src/timer.go", Line: 12},
			{Function: "main.main", File: "/src/main.go", Line: 3},
		},
		Records: []leak.Record{
			{Hint: "newest", Stack: leak.Stack{{Function: "main.use", File: "/src/main.go", Line: 8}}},
			{Hint: "no stack"},
			{Stack: leak.Stack{{Function: "main.f", File: "/src/f.go", Line: 1}}},
		},
		Discarded: 7, Duplicates: 1,
	}
	assert.Equal(t, `LEAK: hashedwheel.Timer.Stop() was not called before it was garbage-collected
Recent access records:
#1:
	Hint: newest
	main.use
		/src/main.go:8
#2:
	Hint: no stack
#3:
	main.f
		/src/f.go:1
Created at:
	hashedwheel.New
		/src/timer.go:12
	main.main
		/src/main.go:3
Duplicate access records not shown: 1
Access records discarded: 7 (HWT_LEAK_DETECTION_TARGET_RECORDS keeps more)
`, report.String())
}

func TestReportWithoutRecordsShowsTheCreation(t *testing.T) {
	report := leak.Report{Type: "pool.Conn", ReleaseMethod: "Close", Scope: "orders",
		Created: leak.Stack{{Function: "main.main", File: "/src/main.go", Line: 3}}}
	assert.Equal(t, `LEAK: pool.Conn.Close() was not called before the end of scope "orders"
Created at:
	main.main
		/src/main.go:3
`, report.String())
}

func TestStackOmitsTheRuntime(t *testing.T) {
	at(t, leak.LevelParanoid)
	scope := leak.NewScope("stacks")
	d, _ := newSinkDetector(leak.Options{Scope: scope})
	drop(d, nil)
	created := scope.Reports()[0].Created
	assert.Equal(t, "github.com/hashedwheel/hwt/leak_test.drop", created[0].Function)
	assert.True(t, strings.HasSuffix(created[0].File, "main_test.go"))
	assert.Contains(t, created[1].Function, t.Name())
	for _, frame := range created {
		assert.NotContains(t, frame.Function, "runtime.goexit")
	}
}

func TestStackIsCutAtItsDepth(t *testing.T) {
	at(t, leak.LevelParanoid)
	scope := leak.NewScope("depth")
	d, _ := newSinkDetector(leak.Options{Scope: scope})
	deep(100, func() { drop(d, nil) })
	assert.Len(t, scope.Reports()[0].Created, 64)
}

//go:noinline
func deep(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
	runtime.KeepAlive(n)
}
