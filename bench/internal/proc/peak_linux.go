package proc

import (
	"fmt"
	"os"
	"strings"
)

// PeakMB returns the most memory that this process has held, in MB. The resource
// usage of the process will not do: it starts with that of its parent.
func PeakMB() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib float64
	_, _ = fmt.Sscan(rest, &kib) // 0 if it is not there
	return kib * 1024 / 1e6
}
