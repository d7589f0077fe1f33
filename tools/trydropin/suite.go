package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// result holds the outcomes of a module's tests.
type result struct {
	outcomes map[string]string // pass, fail, or skip, by package, or by package and test
	output   map[string]string // their output, by the same names
}

// event is a line of the output of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
}

func (e event) name() string {
	switch {
	case e.ImportPath != "": // of a build
		return e.ImportPath
	case e.Test == "":
		return e.Package
	}
	return e.Package + " " + e.Test
}

// runTests runs the module's tests. A failed test is not an error.
func (c config) runTests(ctx context.Context, dir string) (result, error) {
	args := append([]string{"test", "-json", "-count=1", "-vet=off", "-mod=mod", "-timeout=" + c.limit.String()}, c.test...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return result{}, err
	}
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	r := read(out)
	err = cmd.Wait()
	if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) {
		return r, err
	}
	if len(r.outcomes) == 0 {
		return r, fmt.Errorf("go %s: no results\n%s", strings.Join(args, " "), complaints.String())
	}
	return r, ctx.Err()
}

// read reads the events and skips all other lines.
func read(out io.Reader) result {
	r := result{outcomes: map[string]string{}, output: map[string]string{}}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			r.add(e)
		}
		if err != nil {
			return r
		}
	}
}

func (r result) add(e event) {
	switch e.Action {
	case "pass", "fail", "skip":
		r.outcomes[e.name()] = e.Action
		if e.FailedBuild != "" {
			r.output[e.name()] += r.output[e.FailedBuild]
		}
	case "output", "build-output":
		r.output[e.name()] += e.Output
	}
}

// passed reports whether the test or package passed. A subtest that did not run, such
// as one with a random name, passed if its parent did.
func (r result) passed(name string) bool {
	outcome := r.outcomes[name]
	if i := strings.LastIndexByte(name, '/'); outcome == "" && i > strings.IndexByte(name, ' ') && strings.Contains(name, " ") {
		return r.passed(name[:i])
	}
	return outcome == "pass"
}

// String returns the numbers of outcomes.
func (r result) String() string {
	tests, packages := map[string]int{}, map[string]int{}
	for name, outcome := range r.outcomes {
		if strings.Contains(name, " ") {
			tests[outcome]++
		} else {
			packages[outcome]++
		}
	}
	return fmt.Sprintf("%d tests passed, %d failed, %d skipped; %d packages passed, %d failed",
		tests["pass"], tests["fail"], tests["skip"], packages["pass"], packages["fail"])
}

// explain prints the end of the output of the named tests and packages.
func (r result) explain(w io.Writer, names []string) {
	const most = 2000
	slices.Sort(names)
	for _, name := range names {
		output := r.output[name]
		if len(output) > most {
			output = "…" + output[len(output)-most:]
		}
		fmt.Fprintf(w, "-- %s: %s\n%s\n", name, cmp.Or(r.outcomes[name], "did not run"), output)
	}
}
