package main

// mutant is one way to break the library.
type mutant struct {
	file     string   // below the repository's root
	from, to string   // from must be there exactly once
	breaks   string   // the promise that it breaks
	tests    []string // packages whose tests must fail, as paths in the module
	module   string   // whose tests; empty for the module of file
	run      string   // the tests that are enough; empty for all
}

// mutants returns all of them.
func mutants() (all []mutant) {
	for _, part := range [][]mutant{
		lives, workers, stops, bounds, guards, backlogs, edges, observed, looks, wheels, queues, tasks, runtimeTimers,
		keys, caches, clocks, idles, leaks, watched, durables, dropins,
	} {
		all = append(all, part...)
	}
	return all
}

var (
	engine       = []string{"./internal/engine"}
	hashed       = []string{"./hashedwheel"}
	hierarchical = []string{"./hierarchical"}
	runtimeTimer = []string{"./runtimetimer"}
)
