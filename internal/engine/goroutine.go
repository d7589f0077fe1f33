package engine

import (
	"bytes"
	"runtime"
	"strconv"
)

// goroutine returns the number of the calling goroutine, and whether it is in a
// synctest bubble. The runtime shows both only in stack traces, so this takes a
// microsecond: for New, the worker's start and Stop alone.
func goroutine() (id int64, bubbled bool) {
	buf := make([]byte, 128)
	line, _, _ := bytes.Cut(buf[:runtime.Stack(buf, false)], []byte("\n"))
	number, state, _ := bytes.Cut(bytes.TrimPrefix(line, []byte("goroutine ")), []byte(" "))
	id, _ = strconv.ParseInt(string(number), 10, 64)
	return id, bytes.Contains(state, []byte("synctest bubble"))
}
