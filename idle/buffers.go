package idle

import "net"

// WriteBuffers writes v to c and consumes v, as v.WriteTo(c) does. If c is a wrapped TCP or
// Unix connection, one system call writes many buffers, while v.WriteTo(c) makes one call
// per buffer. WriteBuffers is activity like Write.
//
// It allocates nothing beyond the allocations of package net.
func WriteBuffers(c net.Conn, v *net.Buffers) (int64, error) {
	if own, ok := c.(wrapper); ok {
		return own.base().writeBuffers(v)
	}
	return v.WriteTo(c)
}

func (c *conn) writeBuffers(v *net.Buffers) (n int64, err error) {
	if !c.watch.pieces {
		n, err = v.WriteTo(c.Conn)
		c.noteWrite(n)
		return n, c.watch.explain(err)
	}
	c.lockPieces()
	defer c.writing.Unlock()
	for len(*v) > 0 {
		m, err := writeUpTo(c.Conn, v, c.watch.piece())
		c.noteWrite(m)
		if n += m; err != nil || m == 0 { // m == 0: the other buffers are empty
			return n, c.watch.explain(err)
		}
	}
	return n, nil
}

// writeUpTo writes at most limit bytes from the start of v, and consumes the bytes
// written.
func writeUpTo(c net.Conn, v *net.Buffers, limit int) (int64, error) {
	all, whole := *v, 0
	for whole < len(all) && len(all[whole]) <= limit {
		limit -= len(all[whole])
		whole++
	}
	if whole == len(all) || limit == 0 {
		piece := all[:whole]
		n, err := piece.WriteTo(c)
		*v = all[whole-len(piece):]
		return n, err
	}
	cut := all[whole] // the piece contains its first limit bytes
	all[whole] = cut[:limit]
	piece := all[:whole+1]
	n, err := piece.WriteTo(c)
	left := 0 // unwritten bytes of cut[:limit]
	if len(piece) > 0 {
		left = len(piece[len(piece)-1])
	}
	all[whole] = cut[limit-left:]
	*v = all[min(whole, whole+1-len(piece)):]
	return n, err
}
