package idle

import "net"

// WriteBuffers writes v to c and consumes it, as v.WriteTo(c) does. If c is a
// wrapped TCP or Unix connection, one system call writes many buffers, where
// v.WriteTo(c) takes one for each. It is activity like Write.
//
// It makes no allocations beyond those of package net.
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
		if n += m; err != nil || m == 0 { // 0: only empty buffers are left
			return n, c.watch.explain(err)
		}
	}
	return n, nil
}

// writeUpTo writes the first bytes of v, limit at most, and consumes those that
// were written.
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
	cut := all[whole] // of which the piece has the first limit bytes
	all[whole] = cut[:limit]
	piece := all[:whole+1]
	n, err := piece.WriteTo(c)
	left := 0 // of those
	if len(piece) > 0 {
		left = len(piece[len(piece)-1])
	}
	all[whole] = cut[limit-left:]
	*v = all[min(whole, whole+1-len(piece)):]
	return n, err
}
