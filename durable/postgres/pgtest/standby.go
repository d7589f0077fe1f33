package pgtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Standby starts a server that follows s. Its name in synchronous_standby_names is "standby".
// The settings are the settings of s, except synchronous_standby_names.
func (s *Server) Standby(ctx context.Context) (*Server, error) {
	t, err := newServer(s.bin)
	if err != nil {
		return nil, err
	}
	source := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres application_name=standby", s.port)
	err = t.run(ctx, "pg_basebackup", "-D", t.data(), "-d", source, "-c", "fast", "-X", "stream", "--no-sync")
	if err == nil {
		err = t.configure(map[string]string{"primary_conninfo": source, "synchronous_standby_names": ""})
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(t.data(), "standby.signal"), nil, 0o644)
	}
	if err == nil {
		err = t.Restart(ctx)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Promote makes a standby a primary and waits until it accepts writes.
func (s *Server) Promote(ctx context.Context) error {
	return s.run(ctx, "pg_ctl", "promote", "-w", "-D", s.data())
}
