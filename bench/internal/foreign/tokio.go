package foreign

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// crates is where Debian's librust packages install their sources.
const crates = "/usr/share/cargo/registry"

// cargoConfig makes cargo take crates from there, and nothing from the network.
const cargoConfig = `[source.crates-io]
replace-with = "debian"

[source.debian]
directory = "` + crates + `"
`

func buildTokio(h *Harness) error {
	if err := need("cargo", "cargo", "rustc"); err != nil {
		return err
	}
	crate, found := newest(filepath.Join(crates, "tokio-[0-9]*"))
	if !found {
		return errors.New("there is no tokio in " + crates + " (Debian: librust-tokio-dev)")
	}
	if err := os.Mkdir(filepath.Join(h.dir, ".cargo"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(h.dir, ".cargo", "config.toml"), []byte(cargoConfig), 0o644); err != nil {
		return err
	}
	if err := h.run("cargo", "build", "--quiet", "--release", "--offline"); err != nil {
		return err
	}
	out, err := exec.Command("rustc", "--version").Output()
	if err != nil {
		return err
	}
	changes, err := os.ReadFile(filepath.Join(crate, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	version, _, _ := strings.Cut(string(changes), "\n") // "# 1.2.3 (January 2, 2023)"
	h.Version = strings.TrimPrefix(version, "# ") + " with " + strings.TrimSpace(string(out))
	h.command = []string{filepath.Join(h.dir, "target", "release", "harness")}
	return nil
}
