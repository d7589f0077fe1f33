// Package prefetch asks the processor for memory ahead of its use, where what is
// used next is known and was last used long ago: to wait for it then takes longer
// than all the rest. On processors for which it has no instruction, it does
// nothing.
package prefetch
