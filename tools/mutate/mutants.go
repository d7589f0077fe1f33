package main

// mutant is one way to break the library.
type mutant struct {
	file     string   // below the library's root
	from, to string   // from must be there exactly once
	breaks   string   // what is promised, and broken by it
	tests    []string // packages whose tests must go red
	run      string   // the tests of them that are enough; empty for all
}

// mutants returns all of them.
func mutants() (all []mutant) {
	for _, part := range [][]mutant{lives, workers, stops, bounds, wheels, queues, tasks, runtimeTimers, others, guards, extras} {
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
