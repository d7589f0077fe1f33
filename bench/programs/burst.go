package main

import (
	"sync"
	"time"
)

var burst = program{
	name: "burst", title: "A million timeouts due within one second", unit: "timeout",
	text:   "They are scheduled beforehand, evenly spread over that second. A function notes how late it runs.",
	remark: "Go's timers take so long to run a million functions that most are late. A wheel keeps them by tick.",
	sides: []side{
		{"time.AfterFunc", func(scale int) sample {
			return runBurst(scale, func(d time.Duration, f func()) { time.AfterFunc(d, f) })
		}, false},
		{"`hashedwheel`", func(scale int) sample {
			timer := newTimer(time.Millisecond)
			return runBurst(scale, func(d time.Duration, f func()) {
				_, err := timer.AfterFunc(d, f)
				must(err)
			})
		}, false},
	},
}

func runBurst(scale int, schedule func(time.Duration, func())) (s sample) {
	n := 1_000_000 / scale
	var wait sync.WaitGroup
	wait.Add(n)
	late := make([]time.Duration, n)
	lead := 3 * time.Second // to schedule them all
	base := heapMB()
	s.CPU = cpuOf(n, func() {
		due := time.Now().Add(lead)
		for i := range n {
			at := due.Add(time.Second / time.Duration(n) * time.Duration(i))
			schedule(time.Until(at), func() {
				late[i] = time.Since(at)
				wait.Done()
			})
		}
		s.HeapMB = heapMB() - base
		wait.Wait()
	})
	s.lateness(late)
	return s
}
