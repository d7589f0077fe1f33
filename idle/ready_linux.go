package idle

import (
	"io"
	"syscall"
	"unsafe"
)

// readiness tells how many bytes have arrived at a socket.
type readiness struct {
	raw   syscall.RawConn
	first [1]byte
	n     int64
	err   error
}

// newReadiness returns nil if r is no stream socket.
func newReadiness(r io.Reader) *readiness {
	if raw := rawOf(r); raw != nil {
		return &readiness{raw: raw}
	}
	return nil
}

// wait waits until something has arrived, in the way a read does, and returns
// how much. It returns 0 at the end of the stream.
func (r *readiness) wait() (int64, error) {
	r.n, r.err = 0, nil
	if err := r.raw.Read(r.look); err != nil {
		return 0, err
	}
	return r.n, r.err
}

// look is called when fd may have become readable. It returns false if it has
// to be called again.
func (r *readiness) look(fd uintptr) bool {
	n, _, err := syscall.Recvfrom(int(fd), r.first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	switch {
	case err == syscall.EAGAIN:
		return false
	case err == syscall.EINTR:
		return r.look(fd)
	case err != nil || n == 0:
		r.err = err
		return true
	}
	var arrived int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&arrived)))
	r.n = 1
	if errno == 0 && arrived > 1 {
		r.n = int64(arrived)
	}
	return true
}
