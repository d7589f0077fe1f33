package enginekit

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// attributes returns the values of the constants that name attributes in a file.
func attributes(t *testing.T, path string) (values []string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		if c, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(c.Names[0].Name, "Attr") {
			value, err := strconv.Unquote(c.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			values = append(values, value)
		}
		return true
	})
	return values
}

func TestRootPackageDocumentsTheAttributes(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../doc.go", nil, parser.ParseComments)
	require.NoError(t, err)
	_, section, ok := strings.Cut(file.Doc.Text(), "# Logs and profiles\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n# ")
	var documented []string
	for line := range strings.Lines(section) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "  - "), ": "); ok && strings.HasPrefix(line, "  - ") {
			documented = append(documented, name)
		}
	}
	assert.Equal(t, attributes(t, "names.go"), documented)
	assert.Contains(t, section, " "+LabelTimer+",")
	assert.Contains(t, section, " "+LabelTask+",")
}

func TestFailedTaskIsLoggedWithItsAttributes(t *testing.T) {
	var log bytes.Buffer
	b := newBench()
	b.Logger, b.OnError = slog.New(slog.NewJSONHandler(&log, nil)), nil
	b.run(func() error { panic("no good") })
	var record map[string]any
	require.NoError(t, json.Unmarshal(log.Bytes(), &record))
	for _, builtin := range []string{slog.TimeKey, slog.LevelKey, slog.MessageKey} {
		delete(record, builtin)
	}
	assert.ElementsMatch(t, []string{AttrTimer, AttrTask, AttrError, AttrStack}, slices.Collect(maps.Keys(record)))
}
