package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNumbersOfThePageOnEnginesArePublished looks each number of the table in
// docs/migration/engines.md up in the section of docs/benchmarks.md that its row links.
func TestNumbersOfThePageOnEnginesArePublished(t *testing.T) {
	page, err := os.ReadFile("../docs/migration/engines.md")
	require.NoError(t, err)
	published, err := os.ReadFile("../docs/benchmarks.md")
	require.NoError(t, err)
	sections := strings.Split(string(published), "\n## ")
	rows := regexp.MustCompile(`(?m)^\|.*benchmarks\.md#([a-z-]+)\).* \| (\S+) \| (\S+) \|$`).FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, rows)
	for _, row := range rows {
		var section string
		for _, s := range sections {
			title, _, _ := strings.Cut(s, "\n")
			if strings.ReplaceAll(strings.ToLower(title), " ", "-") == row[1] {
				section = s
			}
		}
		assert.Contains(t, numbersOf(section, "hashedwheel"), row[2], row[0])
		assert.Contains(t, numbersOf(section, "hierarchical"), row[3], row[0])
	}
}

// numbersOf returns the numbers in an engine's rows, without their ranges.
func numbersOf(section, engine string) (numbers []string) {
	for line := range strings.Lines(section) {
		if cells, ok := strings.CutPrefix(line, "| **"+engine+"** | "); ok {
			for cell := range strings.SplitSeq(cells, " | ") {
				number, _, _ := strings.Cut(strings.Trim(strings.ReplaceAll(cell, "**", ""), " |\n"), " ")
				numbers = append(numbers, number)
			}
		}
	}
	return numbers
}
