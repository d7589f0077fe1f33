// Package cli is shared by the commands. It formats numbers, prints progress, measures
// processor time, and serves the page of package inspect.
package cli
