package engine

import (
	"bytes"
	"runtime"
	"strconv"
)

// goroutineID returns the number of the calling goroutine, or 0 if the number is unknown.
// The runtime shows the number only in stack traces, so goroutineID is for the worker's
// start and for Stop alone.
func goroutineID() int64 {
	buf := make([]byte, 64)
	return parseGoroutineID(buf[:runtime.Stack(buf, false)])
}

// parseGoroutineID returns the number in the first line of a stack trace, as in "goroutine 7
// [". It returns 0 if the line has another form.
func parseGoroutineID(trace []byte) int64 {
	rest, ok := bytes.CutPrefix(trace, []byte("goroutine "))
	if !ok {
		return 0
	}
	number, _, _ := bytes.Cut(rest, []byte(" ["))
	id, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil {
		return 0
	}
	return id
}
