package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// dropReplacements removes the replacements of the module in dir by folders that do
// not exist, such as ../api. Module archives do not contain these folders. The
// published versions that the module requires take their place.
func dropReplacements(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "edit", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go mod edit -json: %w", err)
	}
	type version struct{ Path, Version string }
	var mod struct{ Replace []struct{ Old, New version } }
	if err := json.Unmarshal(out, &mod); err != nil {
		return err
	}
	args := []string{"mod", "edit"}
	for _, r := range mod.Replace {
		if r.New.Version != "" || exists(dir, r.New.Path) {
			continue
		}
		old := r.Old.Path
		if r.Old.Version != "" {
			old += "@" + r.Old.Version
		}
		args = append(args, "-dropreplace="+old)
	}
	if len(args) == 2 {
		return nil
	}
	return goCommand(ctx, dir, args...)
}

// exists reports whether path, which may be relative to dir, is a module's folder.
func exists(dir, path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}
