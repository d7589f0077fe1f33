package idle_test

import "os"

// files returns how many files this process has open.
func files() int {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(all)
}
