package idle

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// readiness reports the number of bytes that have arrived at a socket.
type readiness struct {
	conn  net.Conn
	raw   syscall.RawConn
	first [1]byte
	n     int64
	err   error
}

// newReadiness returns nil if r is not a stream socket.
func newReadiness(r io.Reader) *readiness {
	if conn, raw := streamSocket(r); raw != nil {
		return &readiness{conn: conn, raw: raw}
	}
	return nil
}

// wait blocks until bytes have arrived, as a read does, and returns the number of bytes, or
// 0 at the end of the stream.
func (r *readiness) wait() (int64, error) {
	r.n, r.err = 0, nil
	if err := r.raw.Read(r.look); err != nil {
		return 0, err
	}
	if r.err != nil {
		return 0, r.opError()
	}
	return r.n, nil
}

// look is called when fd may be readable. It returns false to be called again.
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

// opError returns r.err as a read of the connection would.
func (r *readiness) opError() error {
	local := r.conn.LocalAddr()
	return &net.OpError{Op: "read", Net: local.Network(), Source: local, Addr: r.conn.RemoteAddr(),
		Err: os.NewSyscallError("recvfrom", r.err)}
}
