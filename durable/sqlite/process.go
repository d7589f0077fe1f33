package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// Ground rules
//
// Most SQLite libraries lock files with POSIX locks. Such locks belong to the process: the
// kernel drops all of them when the process closes any descriptor of the file, even one of
// another library. Two writers then write at the same time, and the file is destroyed. The
// locks of this package's driver belong to descriptors (OFD locks): no other library can drop
// them.
//
//	D1. While this package uses a file, it closes no descriptor of the file. A connection that a
//	    store no longer uses is parked, and the next store on the file takes it.
//	D2. The last store that leaves a file closes its connections, unless a descriptor of the file has a
//	    POSIX lock, or the process cannot tell. They stay parked then.
//	D3. Open, Backup, and Verify fail if the process has a descriptor of the file that neither this
//	    package has opened nor the same driver has locked, or if the process cannot tell.

// process has the files that this package has open in this process.
var process fileTable

type fileTable struct {
	mu    sync.Mutex
	files []*openFile // Guarded by mu.
}

// find returns the file, or nil. The caller holds mu.
func (p *fileTable) find(info os.FileInfo) *openFile {
	for _, f := range p.files {
		if os.SameFile(f.info, info) {
			return f
		}
	}
	return nil
}

// connect returns a connection: a parked one, or else a new one.
func (p *fileTable) connect(path, system string, flags sqlite3.OpenFlag) (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if info, err := os.Stat(path); err == nil {
		if f := p.find(info); f != nil {
			i := slices.IndexFunc(f.parked, func(c *conn) bool { return c.system == system && c.flags == flags&^sqlite3.OPEN_CREATE })
			if i >= 0 {
				c := f.parked[i]
				f.parked = slices.Delete(f.parked, i, i+1)
				f.users++
				return c, nil
			}
		}
	}
	return p.new(system, flags, func() (*sqlite3.Conn, error) {
		return sqlite3.OpenFlags(uri(path, system), flags|sqlite3.OPEN_URI)
	})
}

// open returns a new connection that f opens.
func (p *fileTable) open(system string, flags sqlite3.OpenFlag, f func() (*sqlite3.Conn, error)) (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.new(system, flags, f)
}

// new is open. The caller holds mu.
func (p *fileTable) new(system string, flags sqlite3.OpenFlag, f func() (*sqlite3.Conn, error)) (*conn, error) {
	raw, err := f()
	if err != nil {
		return nil, err
	}
	c := newConn(raw, system, flags&^sqlite3.OPEN_CREATE)
	if err := p.add(c); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// add notes a new connection. The caller holds mu.
func (p *fileTable) add(c *conn) error {
	file, err := c.FileControl("main", sqlite3.FCNTL_FILE_POINTER)
	if err != nil {
		return err
	}
	main, ok := file.(vfs.File)
	d := descriptorOf(main)
	if !ok || d == nil {
		return nil // a file system of tests
	}
	info, err := d.Stat()
	if err != nil {
		return err
	}
	if c.file = p.find(info); c.file == nil {
		c.file = &openFile{info: info, own: make(map[uintptr]bool)}
		p.files = append(p.files, c.file)
	}
	c.fd = d.Fd()
	c.file.own[c.fd] = true
	c.file.users++
	return nil
}

// release gives a connection back. A connection that is not usable any more is never taken
// again.
func (p *fileTable) release(c *conn, usable bool) error {
	if c.file == nil {
		return c.close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.park(); !usable {
		c.system = "" // which connect does not look for
	}
	c.file.parked = append(c.file.parked, c)
	c.file.users--
	return p.sweep()
}

// sweep closes the connections of the files that are not in use. The caller holds mu.
func (p *fileTable) sweep() (err error) {
	p.files = slices.DeleteFunc(p.files, func(f *openFile) bool {
		if f.users > 0 {
			return false
		}
		if fd, unknown := foreign(f.info, nil, true); fd != "" || unknown != nil {
			return false
		}
		for _, c := range f.parked {
			err = errors.Join(err, c.close())
		}
		return true
	})
	return err
}

// checkForeign returns an error if another SQLite library of this process has the file open.
func (p *fileTable) checkForeign(path string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	info, err := os.Stat(path)
	if err != nil {
		return nil // there is no file yet
	}
	var own map[uintptr]bool
	if f := p.find(info); f != nil {
		own = f.own
	}
	fd, err := foreign(info, own, false)
	if err != nil {
		return fmt.Errorf("cannot look for other SQLite libraries that have %q open: %w", path, err)
	}
	if fd != "" {
		return fmt.Errorf("another SQLite library of this process has %q open (file descriptor %s): "+
			"its locks end when any descriptor of the file is closed; use Store.DB for your tables, or a second file", path, fd)
	}
	return nil
}

// open returns a connection. ctx bounds the time that pragmas wait.
func open(ctx context.Context, path, system string, flags sqlite3.OpenFlag, pragmas ...string) (*conn, error) {
	c, err := process.connect(path, system, flags)
	if err != nil {
		return nil, err
	}
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	if err = c.BusyTimeout(busyFor); err == nil {
		err = c.pragmas(pragmas...)
	}
	if err != nil {
		process.release(c, false)
		return nil, err
	}
	return c, nil
}
