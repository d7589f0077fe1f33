// Package cacheline reduces waiting for memory. Stripes keep processors from
// writing the same cache lines, and prefetching loads a line before its use.
package cacheline
