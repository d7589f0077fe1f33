// Package counterparts_test compares the examples with the same programs on other
// libraries.
package counterparts_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lines returns the number of lines of a program, without blank ones and comments.
func lines(t *testing.T, name string) (n int) {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

func TestReadmeCountsTheLines(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| (\w+) \| (\d+) \| \[\w+\]\(counterparts/(\w+)\) \| (\d+) \|`).FindAllStringSubmatch(string(readme), -1)
	require.Len(t, rows, 4)
	for _, row := range rows {
		name := row[1]
		assert.Equal(t, name, row[3])
		assert.Equal(t, fmt.Sprint(lines(t, "../"+name+"/main.go")), row[2], "%s", name)
		assert.Equal(t, fmt.Sprint(lines(t, name+"/main.go")), row[4], "counterpart of %s", name)
	}
}
