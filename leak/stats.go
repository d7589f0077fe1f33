package leak

// Stats is a snapshot of a detector's counts.
type Stats struct {
	Leaked     int64 // resources collected without a release
	Duplicates int64 // leaks with the same report as an earlier one, counted but not reported
}

// Stats returns the detector's counts. The counts are read separately, and may be
// inconsistent while leaks are being found.
func (d *Detector[T]) Stats() Stats {
	return Stats{Leaked: d.core.leaks.Load(), Duplicates: d.core.duplicates.Load()}
}
