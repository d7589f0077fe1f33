package store

// single is a bucket that holds one timeout, for which a chunk would be large: 16
// bytes on 64-bit machines.
type single struct {
	node   *Node  // nil if this is free
	bucket uint32 // of a free one, the number of the next free one, counted from 1, or 0
	tag    uint8
}

// alone is the bit of a chunkID that names a single.
const alone chunkID = 1 << 31

// isSingle reports whether id names a single. The zero value does not.
func (id chunkID) isSingle() bool { return id&alone != 0 }

// singles is a store of singles, in slabs as chunks are. There are at most as many
// as buckets, so the slabs stay until none is in use. The zero value has no slabs.
type singles struct {
	slabs [][]single // of slabLen; the first may be shorter while it grows
	free  uint32     // the number of the first of those that were freed, counted from 1
	made  int        // how many were ever allocated
	used  int        // how many are now
}

// at returns the single that id names.
func (s *singles) at(id chunkID) *single { return s.numbered(int(id&^alone) - 1) }

// numbered returns the single with the number n, counted from 0, which may be free.
func (s *singles) numbered(n int) *single { return &s.slabs[n/slabLen][n%slabLen] }

// alloc returns a single that is free. It invalidates pointers to others.
func (s *singles) alloc() (chunkID, *single) {
	s.used++
	if n := s.free; n != 0 {
		o := s.numbered(int(n) - 1)
		s.free = o.bucket
		return alone | chunkID(n), o
	}
	s.grow()
	s.made++
	return alone | chunkID(s.made), s.numbered(s.made - 1)
}

// grow makes room for one more.
func (s *singles) grow() {
	switch i := s.made / slabLen; {
	case i == len(s.slabs):
		n := slabLen
		if i == 0 {
			n = 8
		}
		s.slabs = append(s.slabs, make([]single, n))
	case s.made%slabLen == len(s.slabs[i]):
		larger := make([]single, min(2*s.made, slabLen))
		copy(larger, s.slabs[i])
		s.slabs[i] = larger
	}
}

// release frees the single that id names. If none is in use any more, all slabs but
// the first go back to the collector.
func (s *singles) release(id chunkID) {
	*s.at(id) = single{bucket: s.free}
	s.free = uint32(id &^ alone)
	if s.used--; s.used == 0 && len(s.slabs) > 1 {
		first := s.slabs[0]
		clear(first)
		*s = singles{slabs: [][]single{first}}
	}
}
