package results

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// ThisMachine describes this machine. Unknown fields stay empty.
func ThisMachine() Machine {
	return Machine{
		CPU:    processor(),
		Cores:  runtime.NumCPU(),
		Memory: kib(field("/proc/meminfo", "MemTotal")),
		System: strings.TrimSpace(runtime.GOOS + "/" + runtime.GOARCH + " " + firstLine("/proc/sys/kernel/osrelease")),
		Go:     runtime.Version(),
		Load:   firstWord(firstLine("/proc/loadavg")),
	}
}

// processor returns the processor's name. On ARM, only lscpu knows it.
func processor() string {
	if name := field("/proc/cpuinfo", "model name"); name != "" {
		return name
	}
	out, _ := exec.Command("lscpu").Output() // lscpu may be missing
	return fieldOf(string(out), "Model name")
}

// Commit returns the measured commit, marked if tracked files differ.
func Commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// field returns the value of the first line "name: value" of a file.
func field(path, name string) string {
	text, _ := os.ReadFile(path)
	return fieldOf(string(text), name)
}

// fieldOf returns the value of the first line "name: value" of a text.
func fieldOf(text, name string) string {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func firstLine(path string) string {
	text, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// kib reads "123 kB" as bytes.
func kib(s string) int64 {
	n, _ := strconv.ParseInt(firstWord(s), 10, 64)
	return n << 10
}
