package main

import (
	"math/rand/v2"
	"strconv"
	"time"

	gocache "github.com/patrickmn/go-cache"

	"github.com/hashedwheel/hwt/cache"
)

type session struct{ user int }

// store is a cache of sessions.
type store struct {
	get func(id string) *session
	set func(id string, s *session)
}

var sessions = program{
	name: "sessions", title: "A session cache",
	text: `200,000 sessions live for a second. For two seconds, random sessions are looked up
400,000 times per second, and created again if they are gone. go-cache cleans up twice
per second.`,
	remark: "`cache` takes more memory and CPU time, because each entry has a place in a wheel. It never stops\n" +
		"all lookups for a clean-up, and lookups take no lock. This load shows neither, because\n" +
		"it has one goroutine.",
	sides: []side{
		{"patrickmn/go-cache", func(scale int) sample {
			c := gocache.New(time.Second, time.Second/2)
			return runSessions(scale, store{
				get: func(id string) *session {
					if v, ok := c.Get(id); ok {
						return v.(*session)
					}
					return nil
				},
				set: func(id string, s *session) { c.SetDefault(id, s) },
			})
		}},
		{"`cache`", func(scale int) sample {
			c, err := cache.New[string, *session](time.Second, nil)
			must(err)
			return runSessions(scale, store{
				get: func(id string) *session {
					s, _ := c.Get(id)
					return s
				},
				set: func(id string, s *session) { must(c.Set(id, s)) },
			})
		}},
	},
}

func runSessions(scale int, c store) (s sample) {
	n := 200_000 / scale
	ids := make([]string, n)
	for i := range ids {
		ids[i] = "session" + strconv.Itoa(i)
	}
	base := heapMB()
	for i, id := range ids {
		c.set(id, &session{i})
	}
	s.HeapMB = heapMB() - base
	r := rand.New(rand.NewPCG(7, 8))
	done := 0
	total := cpuOf(1, func() {
		done = paced(2*n, span, func(int) {
			if i := r.IntN(n); c.get(ids[i]) == nil {
				c.set(ids[i], &session{i})
			}
		})
	})
	s.CPU = total / float64(done)
	return s
}
