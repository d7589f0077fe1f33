package leak

// Stats is what a detector has found so far.
type Stats struct {
	Leaked     int64 // resources collected before they were released
	Duplicates int64 // those of Leaked whose report reads like an earlier one, which were not reported
}

// Stats returns the counts of what the detector has found. It reads them one
// after another, so they may not add up while leaks are being found.
func (d *Detector[T]) Stats() Stats {
	return Stats{Leaked: d.core.leaks.Load(), Duplicates: d.core.duplicates.Load()}
}
