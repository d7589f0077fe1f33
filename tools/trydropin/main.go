// Command trydropin changes the imports of packages time and context in a copy of a
// module to dropin/time and dropin/context. It runs the module's tests as the module is,
// with its go line raised to the library's, and with its imports changed. From the
// repository's root:
//
//	go -C tools run ./trydropin github.com/cenkalti/backoff/v5@v5.0.3
//	go -C tools run ./trydropin -packages ./quicvarint/... github.com/quic-go/quic-go@v0.54.0
//
// Its exit status is 1 if a test or package that passed with the raised go line fails with
// the changed imports. Differences that the go line alone makes are printed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// config holds the command-line options.
type config struct {
	root    string        // folder of the library
	imports []string      // standard packages to replace
	limit   time.Duration // time limit of one test run
	test    []string      // arguments of go test
}

func main() {
	var c config
	imports := flag.String("imports", "time,context", "the standard `packages` to replace")
	packages := flag.String("packages", "./...", "the packages to test, separated by commas")
	flags := flag.String("flags", "", "additional `flags` of go test, separated by spaces")
	flag.DurationVar(&c.limit, "timeout", 5*time.Minute, "time limit of one test run")
	flag.Parse()
	c.imports = strings.Split(*imports, ",")
	c.test = append(strings.Fields(*flags), strings.Split(*packages, ",")...)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := errors.New("usage: trydropin [flags] module@version")
	if flag.NArg() == 1 {
		if c.root, err = filepath.Abs(".."); err == nil {
			err = c.try(ctx, flag.Arg(0))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "trydropin:", err)
		os.Exit(1)
	}
}

// try runs the tests of a module as it is, with the library's go line, and after its move,
// and prints the results.
func (c config) try(ctx context.Context, module string) error {
	source, err := download(ctx, module)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "trydropin")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyModule(dir, source.Dir, source.GoMod); err != nil {
		return err
	}
	before, err := c.runTests(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Printf("%s, as it is: %v\n", module, before)
	line, err := c.raise(dir)
	if err != nil {
		return err
	}
	if line != "" {
		raised, err := c.runTests(ctx, dir)
		if err != nil {
			return err
		}
		fmt.Printf("%s, with go %s in go.mod: %v\n", module, line, raised)
		if err := compare(before, raised); err != nil {
			fmt.Printf("because of the go line: %v\n", err)
		}
		before = raised
	}
	moved, err := c.move(dir)
	if err != nil {
		return err
	}
	after, err := c.runTests(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Printf("%s, moved in %d files: %v\n", module, moved, after)
	return compare(before, after)
}

// cached is a module in the module cache.
type cached struct {
	Dir   string
	GoMod string // path of its go.mod, also if Dir does not have one
	Error string
}

// download downloads the module to the module cache.
func download(ctx context.Context, module string) (c cached, err error) {
	out, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", module).Output()
	if json.Unmarshal(out, &c) == nil && c.Error != "" {
		return c, errors.New(c.Error)
	}
	if err != nil {
		return c, fmt.Errorf("go mod download %s: %w", module, err)
	}
	return c, nil
}

// compare prints the differences. It returns an error if a test or package that passed
// before does not pass after.
func compare(before, after result) error {
	var worse, failed []string
	for name, outcome := range before.outcomes {
		switch {
		case outcome == "fail":
			failed = append(failed, name)
		case outcome == "pass" && !after.passed(name):
			worse = append(worse, name)
		}
	}
	slices.Sort(failed)
	for _, name := range failed {
		fmt.Printf("also failed before: %s\n", name)
	}
	if len(worse) == 0 {
		fmt.Println("all tests and packages that passed before pass after")
		return nil
	}
	after.explain(os.Stdout, worse)
	return fmt.Errorf("%d tests and packages passed before and do not pass after", len(worse))
}
