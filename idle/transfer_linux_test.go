package idle_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ioCounter returns what the kernel counts for this process: rchar are the bytes
// it asked for by read, which splice and sendfile to a socket are not.
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

// TestWhichTransfersStayInTheKernel tells splice from read and write by the
// kernel's count of bytes written with write: a spliced byte is written once, by
// the one who feeds the source. The exceptions are those of the documentation.
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

// splicesToFiles reports whether a bare connection's bytes stay in the kernel on
// their way to a file: not every file system can do it.
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
