// Package cli is shared by the commands. It formats numbers, prints progress, and measures
// processor time.
package cli
