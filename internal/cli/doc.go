// Package cli holds what the commands share: number formatting, progress lines,
// processor time, and serving the page of package inspect.
package cli
