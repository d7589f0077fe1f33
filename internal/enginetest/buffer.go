package enginetest

import (
	"bytes"
	"sync"
)

// Buffer is a buffer for logs. A Buffer is safe for concurrent use, and the zero value is
// empty.
type Buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer // Guarded by mu.
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns the text written since the last Take.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Take is String, and empties the buffer.
func (b *Buffer) Take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.buf.Reset()
	return b.buf.String()
}
