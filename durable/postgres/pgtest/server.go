// Package pgtest starts private PostgreSQL servers for tests and measurements.
//
// A [Server] listens on a free port of the loopback interface, trusts every local user, and
// keeps its data in a temporary folder. It needs the programs initdb, postgres, and
// pg_basebackup, in the folder of the initdb in PATH or in the newest version's folder in
// /usr/lib/postgresql. As root, they run as the user postgres or nobody. On Linux a server ends
// with the process that started it; its data stays if that process did not call [Server.Close].
package pgtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrNotInstalled is returned by [Start] if PostgreSQL's programs are missing.
var ErrNotInstalled = errors.New("pgtest: PostgreSQL is not installed")

// Options are the settings of a [Server]. The zero value of each field is its
// default.
type Options struct {
	// Settings are lines of postgresql.conf by name, without quotes.
	Settings map[string]string
}

// Server is a private PostgreSQL server. Its methods are safe for concurrent use.
type Server struct {
	bin  string // Immutable after Start.
	dir  string // Immutable after Start.
	port int    // Immutable after Start.

	mu    sync.Mutex
	cmd   *exec.Cmd     // Guarded by mu.
	ended chan struct{} // closed when cmd has ended. Guarded by mu.
}

// Start creates a cluster in a temporary folder and starts a server on it. It
// returns [ErrNotInstalled] if the programs are missing.
func Start(ctx context.Context, options *Options) (*Server, error) {
	var o Options
	if options != nil {
		o = *options
	}
	bin, err := findBin()
	if err != nil {
		return nil, err
	}
	s, err := newServer(bin)
	if err != nil {
		return nil, err
	}
	err = s.run(ctx, "initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err == nil {
		err = s.configure(o.Settings)
	}
	if err == nil {
		err = s.Restart(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// newServer chooses a folder and a port.
func newServer(bin string) (*Server, error) {
	dir, err := os.MkdirTemp("", "pgtest-")
	if err != nil {
		return nil, err
	}
	if err := giveAway(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	port, err := FreePort()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Server{bin: bin, dir: dir, port: port}, nil
}

// FreePort returns a free port of the loopback interface for a program that opens it
// later. It is below the ports that systems assign to connections and to listeners on
// port 0, which therefore do not take it meanwhile.
func FreePort() (port int, err error) {
	for range 100 {
		port = 10_000 + rand.IntN(20_000)
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

// findBin returns the folder of PostgreSQL's programs.
func findBin() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		path, err = filepath.EvalSymlinks(path) // a link may be alone in its folder
		return filepath.Dir(path), err
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is valid
	if len(found) == 0 {
		return "", ErrNotInstalled
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 if it has no number
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command returns a command of PostgreSQL's that runs as a user other than root.
func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = asOtherUser()
	return cmd
}

func (s *Server) run(ctx context.Context, name string, args ...string) error {
	out, err := s.command(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("pgtest: %s: %w: %s", name, cmp.Or(ctx.Err(), err), out)
	}
	return nil
}

// configure appends settings to postgresql.conf.
func (s *Server) configure(settings map[string]string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\nport = %d\n", s.port)
	text.WriteString("dynamic_shared_memory_type = mmap\n") // Close removes the segments of a killed server
	for name, value := range settings {
		fmt.Fprintf(&text, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
	}
	return s.appendTo("postgresql.conf", text.String())
}

func (s *Server) appendTo(name, text string) error {
	f, err := os.OpenFile(filepath.Join(s.data(), name), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// URL returns the address of a database as its superuser.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", s.Address(), database)
}

// Address returns the host and the port.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// PID returns the process ID of the postmaster, or 0 if it does not run.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// Restart starts the server, after it has ended, and waits until it accepts
// connections. It does nothing if the server runs. If the server does not start for a
// minute, Restart returns an error with the end of its log.
func (s *Server) Restart(ctx context.Context) error {
	for last := time.Now().Add(time.Minute); ; {
		ended, err := s.launch()
		if err != nil {
			return err
		}
		err = s.awaitReady(ctx, ended)
		if err == nil || ctx.Err() != nil || time.Now().After(last) {
			return err
		}
		// The children of a killed postmaster hold its shared memory for a moment.
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// launch starts the postmaster if it does not run.
func (s *Server) launch() (ended chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		return s.ended, nil
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := s.command(context.Background(), "postgres", "-D", s.data())
	cmd.Stdout, cmd.Stderr = log, log
	endWithParent(cmd.SysProcAttr)
	started := make(chan error, 1)
	ended = make(chan struct{})
	go s.serve(cmd, started, ended)
	if err := <-started; err != nil {
		return nil, err
	}
	s.cmd, s.ended = cmd, ended
	return ended, nil
}

// serve runs the postmaster. Its parent, as Linux sees it, is the thread that starts it:
// the thread must not end before.
func (s *Server) serve(cmd *exec.Cmd, started chan<- error, ended chan struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	started <- err
	if err != nil {
		return
	}
	cmd.Wait() // the log has the reason
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cmd = nil
	close(ended)
}

// awaitReady waits until the postmaster reports in its lock file that it is ready.
func (s *Server) awaitReady(ctx context.Context, ended chan struct{}) error {
	for {
		status, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
		lines := bytes.Split(status, []byte("\n"))
		if err == nil && len(lines) > 7 && bytes.HasPrefix(lines[7], []byte("ready")) && string(lines[0]) == strconv.Itoa(s.PID()) {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ended:
			return fmt.Errorf("pgtest: postgres ended: %s", s.Log())
		case <-ctx.Done():
			return fmt.Errorf("pgtest: postgres is not ready: %w: %s", ctx.Err(), s.Log())
		}
	}
}

// Log returns the server's log, or the error of reading it.
func (s *Server) Log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Kill sends SIGKILL to the postmaster and all its children, as a crash of the machine
// would, and waits until the postmaster has ended. The data stays; [Server.Restart]
// recovers it.
func (s *Server) Kill() {
	children := s.Children()
	s.end(os.Kill)
	for pid := range children {
		if p, err := os.FindProcess(pid); err == nil {
			p.Kill() // fails only if it has ended
		}
	}
}

// Children returns the titles of the server's processes by ID, except the postmaster.
// It needs the file system /proc and returns nil elsewhere.
func (s *Server) Children() map[int]string {
	parent := s.PID()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	children := make(map[int]string)
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		_, after, ok := strings.Cut(string(stat), ") ") // after the name come the state and the parent
		fields := strings.Fields(after)
		if err != nil || !ok || parent == 0 || len(fields) < 2 || fields[1] != strconv.Itoa(parent) {
			continue
		}
		title, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		pid, err2 := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && err2 == nil {
			children[pid] = strings.TrimRight(string(title), "\x00 ")
		}
	}
	return children
}

// end sends a signal to the postmaster and waits until it has ended.
func (s *Server) end(signal os.Signal) {
	s.mu.Lock()
	cmd, ended := s.cmd, s.ended
	s.mu.Unlock()
	if cmd == nil {
		return
	}
	cmd.Process.Signal(signal) // fails only if it has ended
	<-ended
}

// Close ends the server and removes its data.
func (s *Server) Close() error {
	s.end(stopSignal)
	return os.RemoveAll(s.dir)
}
