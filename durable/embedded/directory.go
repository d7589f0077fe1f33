package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// identityFile says what a directory is.
const identityFile = "hwt.json"

// identity is what identityFile holds.
type identity struct {
	Format  int    `json:"format"`
	Kind    string `json:"kind"` // "standalone" or "node"
	Cluster string `json:"cluster,omitempty"`
	Node    string `json:"node,omitempty"`
}

// ErrDirectory is returned by Open for a directory that is something else than
// asked for, or that is open already. The error's text says what.
var ErrDirectory = errors.New("embedded: the directory cannot be opened this way")

func (o Options) identity() identity {
	if c := o.Cluster; c != nil {
		return identity{Format: 1, Kind: "node", Cluster: c.Name, Node: c.Node}
	}
	return identity{Format: 1, Kind: "standalone"}
}

func (i identity) String() string {
	if i.Kind == "node" {
		return fmt.Sprintf("node %q of cluster %q", i.Node, i.Cluster)
	}
	return "a standalone store"
}

// openDirectory makes sure that dir is, or becomes, what want says, and that no
// one else has it open. The file that it returns holds the lock.
func openDirectory(dir string, want identity, mustExist bool) (*os.File, error) {
	if dir == "" {
		return nil, fmt.Errorf(`%w: dir is "" (expected: a directory)`, ErrDirectory)
	}
	if _, err := os.Stat(filepath.Join(dir, identityFile)); err != nil && mustExist {
		return nil, fmt.Errorf("%w: %s is not a store: %w", ErrDirectory, dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	lock, err := lockFile(filepath.Join(dir, "hwt.lock"))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDirectory, dir, err)
	}
	if err := identify(dir, want); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// identify compares the directory with want. An empty one becomes want.
func identify(dir string, want identity) error {
	path := filepath.Join(dir, identityFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, "jetstream")); err == nil {
			return fmt.Errorf("%w: %s holds a JetStream store, but no %s: it is not this package's", ErrDirectory, dir, identityFile)
		}
		return writeIdentity(path, want)
	}
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	var got identity
	if err := json.Unmarshal(text, &got); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDirectory, path, err)
	}
	if got.Format != want.Format {
		return fmt.Errorf("%w: %s is of format %d (expected: %d)", ErrDirectory, dir, got.Format, want.Format)
	}
	if got != want {
		return fmt.Errorf("%w: %s is %v, not %v", ErrDirectory, dir, got, want)
	}
	return nil
}

// writeIdentity writes the file whole or not at all.
func writeIdentity(path string, want identity) error {
	text, err := json.Marshal(want)
	if err != nil {
		return err
	}
	draft := path + ".new"
	if err := os.WriteFile(draft, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	if err := os.Rename(draft, path); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}
