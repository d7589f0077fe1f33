package sqlite

import (
	"os"
	"strconv"
	"strings"
)

// foreign returns a descriptor of a file in this process that neither own has nor a connection of the
// driver has locked, or "". With locked, it must hold a POSIX lock.
func foreign(info os.FileInfo, own map[uintptr]bool, locked bool) (descriptor string) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return "" // /proc is not mounted
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
		if err != nil || strings.Contains(string(text), "OFDLCK") {
			continue
		}
		if !locked || strings.Contains(string(text), "POSIX") {
			return e.Name()
		}
	}
	return ""
}
