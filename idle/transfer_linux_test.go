package idle_test

import (
	"fmt"
	"io"
	"os"
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

// TestTransfersStayInTheKernel tells splice from read and write by the kernel's
// count of bytes written with write: a spliced byte is written once, by the one
// who feeds the source.
func TestTransfersStayInTheKernel(t *testing.T) {
	r := newReaper(t, newTimer(t, second), time.Hour)
	client, server := tcpPair(t)
	defer client.Close()
	got := make(chan int64, 1)
	go func() { got <- drain(client) }()
	source := r.Wrap(feed(tcpPair(t)))
	defer source.Close()
	dst := r.Wrap(server)
	before := ioCounter(t, "wchar")
	n, err := io.Copy(dst, source)
	require.NoError(t, err)
	dst.Close()
	assert.Equal(t, n, <-got)
	written := ioCounter(t, "wchar") - before
	t.Logf("moved %d, written %d", n, written)
	assert.Less(t, float64(written), 1.5*float64(n))
}
