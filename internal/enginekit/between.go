package enginekit

import "math"

// maxReads bounds the reads of Between.
const maxReads = 8

// Between returns how many of begun have not ended. Both counts only grow, and ended never
// exceeds begun. Other goroutines may change them between two reads, for as long as the
// caller waits for a processor. Between therefore reads again, up to eight times, until
// ended stays the same across a read of begun.
//
// least is at most the greatest difference during the call, and most is at least the
// smallest. They are equal if ended stayed the same.
func Between(begun, ended func() int64) (least, most int64) {
	most = math.MaxInt64
	was := ended()
	for range maxReads {
		total := begun()
		now := ended()
		if now == was {
			return max(total-now, 0), max(total-now, 0)
		}
		least, most = max(least, total-now), min(most, total-was)
		was = now
	}
	return least, most
}
