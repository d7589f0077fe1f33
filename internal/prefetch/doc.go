// Package prefetch asks the processor to load memory before it is used. It pays
// where the next addresses are known and were last used long ago, so that waiting
// for them would take longer than the work itself. On processors other than amd64
// and arm64 it does nothing.
package prefetch
