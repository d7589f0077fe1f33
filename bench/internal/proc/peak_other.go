//go:build !linux

package proc

// PeakMB returns 0: on this system the peak is not known.
func PeakMB() float64 { return 0 }
