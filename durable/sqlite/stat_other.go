//go:build !unix

package sqlite

import "os"

// links returns 1: package os does not tell.
func links(os.FileInfo) uint64 { return 1 }

// giveTo returns the mode of the other file: package os cannot change owners.
func giveTo(_ *os.File, like os.FileInfo) os.FileMode { return like.Mode().Perm() }

// forbidden returns nil: the error of the system names the file.
func forbidden(string) error { return nil }

// unwritable returns nil, likewise.
func unwritable(string) error { return nil }
