// Command release creates the commits and tags of a version in a clone, and checks them
// as users will see them. From the repository's root:
//
//	go -C tools run ./release v0.1.0       # only tries
//	go -C tools run ./release -tag v0.1.0  # and puts the tags into this repository
//	go -C tools run ./release -keep /tmp/proxy v0.1.0  # and leaves the modules there
//
// The root module is tagged as it is. The modules in folders that programs import
// have a replace directive for it, which is ignored in dependencies and refused by
// go install: the clone requires the version instead. The tags lead to commits that
// are on no branch, so that development continues with the replace directives.
//
// The check serves the modules from a folder, as a module proxy would, builds a
// module outside the repository that imports every package, and installs the
// command by its version.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	tag := flag.Bool("tag", false, "put the tags into the repository")
	keep := flag.String("keep", "", "leave the module proxy in this `directory`, for other programs")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: release [-tag] [-keep DIRECTORY] vX.Y.Z")
		os.Exit(2)
	}
	if err := run("..", flag.Arg(0), *tag, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

var isVersion = regexp.MustCompile(`^v[01]\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func run(root, version string, tag bool, keep string) error {
	if !isVersion.MatchString(version) {
		return fmt.Errorf("version is %q (expected: v0 or v1, such as v0.1.0; v2 needs other import paths)", version)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	folder, err := filepath.Abs(cmp.Or(keep, filepath.Join(temp, "proxy")))
	if err != nil {
		return err
	}
	r := release{version: version, clone: filepath.Join(temp, "clone"), temp: temp, folder: folder}
	if err := r.prepare(root); err != nil {
		return err
	}
	if tag {
		if err := checkChangelog(root, version); err != nil {
			return err
		}
	}
	if err := r.make(); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	if keep != "" {
		fmt.Printf("try it in a program with: GOPROXY=file://%s,$(go env GOPROXY) GONOSUMDB=%s go get %s@%s\n",
			folder, rootPath+","+rootPath+"/*", rootPath, version)
	}
	if !tag {
		fmt.Printf("%s work; this repository has no new tags\n", strings.Join(r.tags(), ", "))
		return nil
	}
	if _, err := git(root, "fetch", "--quiet", r.clone, "refs/tags/*:refs/tags/*"); err != nil {
		return err
	}
	fmt.Printf("tagged; publish with: git push origin %s\n", strings.Join(r.tags(), " "))
	return nil
}

// checkChangelog returns an error unless the version has a section.
func checkChangelog(root, version string) error {
	text, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err == nil && !strings.Contains(string(text), "\n## ["+strings.TrimPrefix(version, "v")+"]") {
		err = fmt.Errorf("CHANGELOG.md has no section %s (expected: ## [%s] - date)", version, strings.TrimPrefix(version, "v"))
	}
	return err
}
