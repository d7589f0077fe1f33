package sqlite

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/hashedwheel/hwt/durable"
)

// Options are the settings of a [Store]. The zero value of each field is its default.
type Options struct {
	durable.Options

	// SyncEvery is the interval at which commits are synced to the disk, 10 ms to 10 s. 0 is
	// the default: each commit is synced before its callers return. With an interval, a power
	// loss costs the commits since the last sync; the death of the process costs no commit.
	SyncEvery time.Duration

	// MaxBytes limits the size of the file, including the program's own tables. Set,
	// Create, Ensure, and SetMany return durable.ErrFull if the entry would take the file beyond
	// 80 % of it. All other methods still work. The write-ahead log is not limited, although Stats.Bytes
	// includes it. The default, 0, means no limit. The smallest limit is 1 MB.
	MaxBytes int64

	// MustExist makes Open return durable.ErrNoStore if there is no store in the file,
	// instead of creating one.
	MustExist bool

	// AnyFileSystem makes Open accept a file on a network file system, on FUSE, or on a folder shared
	// with a virtual machine. Set it only if no other machine opens the file, and if syncs reach
	// the disk: SQLite's locks do not exclude other machines.
	AnyFileSystem bool

	// Of tests:
	vfs        string                   // SQLite's file system; "" is files
	checkpoint int                      // pages in the log until a checkpoint; 0 is 4000
	sync       func(log *os.File) error // syncs the log for SyncEvery; nil is Sync
}

func (o *Options) complete() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.SyncEvery != 0 && (c.SyncEvery < 10*time.Millisecond || c.SyncEvery > 10*time.Second) {
		return c, refuse("SyncEvery", c.SyncEvery, "0 for each commit, or 10ms to 10s")
	}
	if c.MaxBytes < 0 || c.MaxBytes > 0 && c.MaxBytes < 1_000_000 {
		return c, refuse("MaxBytes", c.MaxBytes, "0 for no limit, or 1000000 or more")
	}
	if c.checkpoint == 0 {
		c.checkpoint = 4000
	}
	if c.sync == nil {
		c.sync = (*os.File).Sync
	}
	c.vfs = cmp.Or(c.vfs, vfsName)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c, nil
}

func refuse(field string, value any, expected string) error {
	return fmt.Errorf("sqlite: %w: Options.%s: %v (expected: %s)", durable.ErrInvalid, field, value, expected)
}
