package timertest

import (
	"bytes"
	"sync"
)

// Buffer is a buffer for a log that may be written to and read at once. The zero
// value is empty.
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

// String returns what was written since the last Take.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Take returns what String does, and empties the buffer.
func (b *Buffer) Take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.buf.Reset()
	return b.buf.String()
}
