package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// fate is the end of a mutant.
type fate string

const (
	failed   fate = "caught"
	crashed  fate = "caught (crash)"
	hung     fate = "caught (hang)"
	survived fate = "SURVIVED"
	invalid  fate = "INVALID"
)

// verdict is a mutant's fate, and the test that decided it.
type verdict struct {
	mutant
	fate fate
	by   string
	took time.Duration
}

func (v verdict) with(f fate, by string) verdict {
	v.fate, v.by = f, by
	return v
}

func (v verdict) String() string {
	return fmt.Sprintf("%-14s  %-33s  %s\n%36s%s (%.1f s)", v.fate, v.file, v.breaks, "", v.by, v.took.Seconds())
}

var (
	failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	running = regexp.MustCompile(`(?m)^\s*running tests:\n\s*\S+`)
	unbuilt = regexp.MustCompile(`(?m)^FAIL\s.*\[(build|setup) failed\]`)
	goesOff = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)
)

// judge reads the output of the tests.
func (v verdict) judge(out string, err error) verdict {
	switch {
	case err == nil:
		return v.with(survived, "go test "+strings.Join(v.tests, " ")+" -run '"+v.run+"'")
	case unbuilt.MatchString(out):
		return v.with(invalid, "a test does not compile: "+out)
	case strings.Contains(out, "panic: test timed out"):
		return v.with(hung, strings.Join(strings.Fields(running.FindString(out)), " "))
	case failure.MatchString(out):
		return v.with(failed, deepest(failure.FindAllStringSubmatch(out, -1)))
	case goesOff.MatchString(out):
		return v.with(crashed, goesOff.FindString(out))
	}
	return v.with(invalid, out)
}

// deepest returns the first failure that is not made of others.
func deepest(failures [][]string) string {
	name := failures[0][1]
	for _, f := range failures[1:] {
		if !strings.HasPrefix(f[1], name+"/") {
			break
		}
		name = f[1]
	}
	return name
}
