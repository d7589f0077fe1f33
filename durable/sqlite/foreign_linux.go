package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// foreign returns a descriptor of a file in this process that neither own has nor a connection of the
// driver has locked, or "". With locked, it must hold a POSIX lock. An error, such as that the process has
// no free descriptors, leaves the answer open.
func foreign(info os.FileInfo, own map[uintptr]bool, locked bool) (descriptor string, err error) {
	entries, err := os.ReadDir("/proc/self/fd")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // /proc is not mounted
	}
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		n, err := strconv.ParseUint(e.Name(), 10, 64)
		if err != nil || own[uintptr(n)] {
			continue
		}
		if other, err := os.Stat("/proc/self/fd/" + e.Name()); err != nil || !os.SameFile(other, info) {
			continue
		}
		text, err := os.ReadFile("/proc/self/fdinfo/" + e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was closed meanwhile
		}
		if err != nil {
			return "", err
		}
		if !strings.Contains(string(text), "OFDLCK") && (!locked || strings.Contains(string(text), "POSIX")) {
			return e.Name(), nil
		}
	}
	return "", nil
}
