package durable

import (
	"slices"
	"time"
)

// seen is a message that a look read.
type seen struct {
	seq    uint64
	left   time.Duration // until it is due
	canary bool
}

// stretch is a part of a stream: from a sequence on to the next stretch.
type stretch struct {
	from  uint64
	after int64  // messages of the kind from there to the end of the stream
	count int64  // those of them in the stretch
	read  []seen // those of them that were read, from the beginning of the stretch
}

// unread returns how many messages of the stretch were not read.
func (st stretch) unread() int64 { return st.count - int64(len(st.read)) }

// stretches are those of a stream, in its order.
type stretches []stretch

// middle returns the stretch of which most is unread, and the sequence in the middle of
// what is unread there; 0 if everything is read. The last stretch ends before end.
func (all stretches) middle(end uint64) (i int, from uint64) {
	for j, st := range all {
		if st.unread() > all[i].unread() {
			i = j
		}
	}
	if all[i].unread() <= 0 {
		return i, 0
	}
	begin := all[i].from + 1
	if n := len(all[i].read); n > 0 {
		begin = all[i].read[n-1].seq + 1
	}
	if i+1 < len(all) {
		end = all[i+1].from
	}
	if end <= begin { // what was unread has gone meanwhile
		return i, 0
	}
	return i, begin + (end-begin)/2
}

// split divides stretch i where next begins.
func (all stretches) split(i int, next stretch) stretches {
	behind := all[i].after - all[i].count
	next.count = max(next.after-behind, 0)
	next.after = behind + next.count
	next.read = next.read[:min(next.count, int64(len(next.read)))]
	// Messages may have gone since, but what was read counts.
	all[i].count = max(all[i].count-next.count, int64(len(all[i].read)))
	return slices.Insert(all, i+1, next)
}
