// Package output writes lines without making the writer's reader hold up
// whoever has something to say.
package output

import (
	"io"
	"sync"
)

// Lines writes lines on a goroutine of its own. Print only appends to a buffer,
// so a slow terminal or a full pipe does not hold up a timer's worker.
//
// The buffer is not limited: it holds what was printed faster than it could be
// written.
type Lines struct {
	w       io.Writer
	onError func(error)

	mu     sync.Mutex
	filled *sync.Cond
	buffer []byte // Guarded by mu.
	closed bool   // Guarded by mu.
	err    error  // the first failure of w. Guarded by mu.
	done   chan struct{}
}

// NewLines returns lines that are written to w. Close must be called. The first
// error of w, after which nothing is written any more, is given to onError.
func NewLines(w io.Writer, onError func(error)) *Lines {
	l := &Lines{w: w, onError: onError, done: make(chan struct{})}
	l.filled = sync.NewCond(&l.mu)
	go l.write()
	return l
}

// Print appends a line; the end of line is added. It does not block.
func (l *Lines) Print(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || l.closed {
		return
	}
	l.buffer = append(append(l.buffer, line...), '\n')
	l.filled.Signal()
}

// Close waits until everything printed is written and returns the first error.
func (l *Lines) Close() error {
	l.mu.Lock()
	l.closed = true
	l.filled.Signal()
	l.mu.Unlock()
	<-l.done
	return l.err
}

// write writes what is printed until Close.
func (l *Lines) write() {
	defer close(l.done)
	var spare []byte
	for {
		text, more := l.take(spare[:0])
		if !more {
			return
		}
		if _, err := l.w.Write(text); err != nil {
			l.fail(err)
		}
		spare = text
	}
}

// take waits for text and takes it, leaving spare as the empty buffer. It
// returns false when there will be none any more.
func (l *Lines) take(spare []byte) ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.buffer) == 0 && !l.closed {
		l.filled.Wait()
	}
	text := l.buffer
	l.buffer = spare
	return text, len(text) > 0
}

// fail notes the first error and drops what waits to be written.
func (l *Lines) fail(err error) {
	l.mu.Lock()
	first := l.err == nil
	if first {
		l.err, l.buffer = err, nil
	}
	l.mu.Unlock()
	if first {
		l.onError(err)
	}
}
