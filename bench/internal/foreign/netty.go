package foreign

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// jars is the folder of Debian's libnetty-java.
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
	// Only the heap's bound is set, as in most programs.
	h.command = []string{
		"java", "-XX:MaxRAMPercentage=60", "-cp", jar + string(filepath.ListSeparator) + h.dir, "Harness",
	}
	return nil
}

// buildJDK builds the same harness with the executor in place of Netty's timer.
func buildJDK(h *Harness) error {
	if err := buildNetty(h); err != nil {
		return err
	}
	_, h.Version, _ = strings.Cut(h.Version, " on ")
	h.command = slices.Insert(h.command, 1, "-Dtimer=jdk")
	return nil
}
