package foreign

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
)

// jars is where Debian's libnetty-java installs them.
const jars = "/usr/share/java"

func buildNetty(h *Harness) error {
	if err := need("default-jdk-headless", "java", "javac"); err != nil {
		return err
	}
	jar, found := newest(filepath.Join(jars, "netty-common-[0-9]*.jar"))
	if !found {
		return errors.New("there is no netty-common in " + jars + " (Debian: libnetty-java)")
	}
	files, err := filepath.Glob(filepath.Join(h.dir, "*.java"))
	if err != nil {
		return err
	}
	if err := h.run("javac", append([]string{"-nowarn", "-cp", jar}, files...)...); err != nil {
		return err
	}
	netty := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jar), "netty-common-"), ".jar")
	out, err := exec.Command("java", "-version").CombinedOutput()
	if err != nil {
		return err
	}
	jvm, _, _ := strings.Cut(string(out), "\n")
	h.Version = netty + " on " + strings.ReplaceAll(jvm, `"`, "")
	// Nothing but the heap's bound is set: users seldom set more.
	h.command = []string{
		"java", "-XX:MaxRAMPercentage=60", "-cp", jar + string(filepath.ListSeparator) + h.dir, "Harness",
	}
	return nil
}
