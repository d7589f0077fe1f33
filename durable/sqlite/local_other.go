//go:build !linux

package sqlite

import (
	"fmt"
	"os"
)

// checkLocal returns an error if a directory does not exist. It does not know network file
// systems.
func checkLocal(directory string) error {
	if _, err := os.Stat(directory); err != nil {
		return fmt.Errorf("directory %q: %w", directory, err)
	}
	return nil
}

// checkMount returns nil: only Linux mounts single files.
func checkMount(string) error { return nil }
