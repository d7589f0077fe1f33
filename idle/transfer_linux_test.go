package idle_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/idle"
)

// ioCounter returns a counter that the kernel keeps for this process. wchar counts
// the bytes of its writes and of splice, and syscw the system calls that write.
func ioCounter(t *testing.T, name string) (n int64) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip("the kernel does not count: ", err)
	}
	_, after, ok := strings.Cut(string(text), name+": ")
	require.True(t, ok)
	_, err = fmt.Sscan(after, &n)
	require.NoError(t, err)
	return n
}

// TestWhichTransfersStayInTheKernel compares the bytes that the process has written
// with those that arrived. A byte that is spliced is written once, by the test that
// feeds the source; any other is written again. The exceptions are those of the
// package's documentation.
func TestWhichTransfersStayInTheKernel(t *testing.T) {
	r := newReaper(t, newTimer(t, second), time.Hour)
	tcp := func() net.Conn { return r.Wrap(feed(tcpPair(t))) }
	unix := func() net.Conn { return r.Wrap(feed(unixPair(t))) }
	whole := io.Copy
	limited := func(w io.Writer, r io.Reader) (int64, error) { return io.CopyN(w, r, fed) }
	for _, c := range []struct {
		name   string
		source func() net.Conn
		to     io.WriteCloser
		how    func(io.Writer, io.Reader) (int64, error)
		kernel bool
	}{
		{"tcp to tcp", tcp, r.Wrap(drained(t, tcpPair)), whole, true},
		{"tcp to tcp, limited", tcp, r.Wrap(drained(t, tcpPair)), limited, true},
		{"tcp to bare tcp", tcp, drained(t, tcpPair), whole, true},
		{"tcp to file", tcp, empty(t), whole, splicesToFiles(t)},
		{"unix to tcp", unix, r.Wrap(drained(t, tcpPair)), whole, true},
		{"tcp to bare tcp, limited", tcp, drained(t, tcpPair), limited, false},
		{"tcp to file, limited", tcp, empty(t), limited, false},
		{"tcp to unix", tcp, r.Wrap(drained(t, unixPair)), whole, false},
		{"unix to bare tcp", unix, drained(t, tcpPair), whole, false},
		{"unix to file", unix, empty(t), whole, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer c.to.Close()
			before := ioCounter(t, "wchar")
			source := c.source()
			defer source.Close()
			n, err := c.how(c.to, source)
			require.NoError(t, err)
			assert.EqualValues(t, fed, n)
			written := ioCounter(t, "wchar") - before
			assert.Equal(t, c.kernel, float64(written) < 1.5*fed, "%d moved, %d written", n, written)
		})
	}
}

// TestBuffersTakeFewSystemCalls compares with a bare connection.
func TestBuffersTakeFewSystemCalls(t *testing.T) {
	r := newReaper(t, newTimer(t, second), time.Hour)
	calls := func(c net.Conn) int64 {
		defer c.Close()
		v := make(net.Buffers, 1000)
		for i := range v {
			v[i] = random(100)
		}
		before := ioCounter(t, "syscw")
		n, err := idle.WriteBuffers(c, &v)
		require.NoError(t, err)
		assert.EqualValues(t, 100_000, n)
		return ioCounter(t, "syscw") - before
	}
	for _, pair := range []func(testing.TB) (net.Conn, net.Conn){tcpPair, unixPair} {
		bare, watched := calls(drained(t, pair)), calls(r.Wrap(drained(t, pair)))
		t.Logf("bare %d, watched %d", bare, watched)
		assert.Less(t, watched, bare+10)
	}
}

func TestCopyFromAResetConnectionReturnsAnOpError(t *testing.T) {
	r := newReaper(t, newTimer(t, second), time.Hour)
	client, server := tcpPair(t)
	src, dst := r.Wrap(server), r.Wrap(drained(t, tcpPair))
	defer src.Close()
	defer dst.Close()
	require.NoError(t, client.(*net.TCPConn).SetLinger(0))
	require.NoError(t, client.Close())
	_, err := io.Copy(dst, src)
	require.ErrorIs(t, err, syscall.ECONNRESET)
	var op *net.OpError
	require.ErrorAs(t, err, &op)
	assert.Equal(t, "read", op.Op)
	assert.Equal(t, src.LocalAddr(), op.Source)
	assert.Equal(t, src.RemoteAddr(), op.Addr)
	var call *os.SyscallError
	assert.ErrorAs(t, err, &call)
}

// splicesToFiles reports whether bytes go from a bare connection to a file inside
// the kernel, which not every file system can do.
func splicesToFiles(t *testing.T) bool {
	before := ioCounter(t, "wchar")
	source, to := feed(tcpPair(t)), empty(t)
	defer source.Close()
	defer to.Close()
	_, err := io.Copy(to, source)
	require.NoError(t, err)
	return float64(ioCounter(t, "wchar")-before) < 1.5*fed
}

// drained returns one end of a connection whose other end reads all.
func drained(t *testing.T, pair func(testing.TB) (client, server net.Conn)) net.Conn {
	client, server := pair(t)
	t.Cleanup(func() { client.Close() })
	go drain(client)
	return server
}

// empty returns an empty file.
func empty(t *testing.T) *os.File {
	f, err := os.Create(filepath.Join(t.TempDir(), "to"))
	require.NoError(t, err)
	return f
}
