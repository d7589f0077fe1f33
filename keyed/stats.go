package keyed

// Stats is a snapshot of a wheel's counts. Pairs that Delete removes are not counted,
// because a count would slow Delete down.
type Stats struct {
	Pending   int64 // pairs that have not ended
	Fired     int64 // pairs that expired with a call of the callback
	Drained   int64 // pairs that Drain removed
	Cancelled int64 // pairs that Close cancelled
}

// Stats returns a snapshot of the counts. The counts are read one after another, so they
// may not add up under concurrent updates.
func (w *Wheel[K, V]) Stats() Stats {
	return Stats{
		Pending:   int64(w.Len()),
		Fired:     w.fired.Load(),
		Drained:   w.drained.Load(),
		Cancelled: w.cancelled.Load(),
	}
}
