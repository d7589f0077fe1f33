package sqlite

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// texts are the statements that the connections of backends have prepared.
type texts map[string]bool

// note adds the statements of a backend.
func (all texts) note(t testing.TB, b *sqliteBackend) {
	require.NoError(t, b.do(context.Background(), 1, func(t *txn) error {
		all.add(t.c)
		return nil
	}))
	var idle []*conn
	for range readers {
		c := <-b.readers
		all.add(c)
		idle = append(idle, c)
	}
	for _, c := range idle {
		b.readers <- c
	}
}

func (all texts) add(c *conn) {
	for sql := range c.queries {
		all[sql] = true
	}
}

// misleading are contents of sqlite_stat1, which a user's ANALYZE or PRAGMA optimize may have written at another time.
var misleading = map[string]map[string]string{
	"small tables": {"hwt_entries": "1 1 1", "hwt_due": "1 1 1 1 1", "hwt_kind": "1 1 1 1 1 1", "hwt_dead": "1 1 1", "hwt_permits": "1 1 1 1"},
	"keys that repeat": {"hwt_entries": "1000000 1000000 1000000", "hwt_due": "1000000 2 1 1 1", "hwt_kind": "1000000 1000000 2 1 1 1",
		"hwt_dead": "1000000 1000000 1000000", "hwt_permits": "1000000 1000000 1000000 1000000"},
	"due times that repeat": {"hwt_entries": "1000000 1 1", "hwt_due": "1000000 1000000 1 1 1", "hwt_kind": "1000000 10 1000000 1 1 1",
		"hwt_dead": "1000000 1 1", "hwt_permits": "1000000 1 1 1"},
}

// requirePlans fails the test if a statement reads all rows of a large table, sorts them, or builds an index, whatever SQLite knows
// of the tables.
func (all texts) requirePlans(t *testing.T) {
	require.NotEmpty(t, all, "the whole suite runs the statements")
	s := openTemp(t)
	require.NoError(t, s.backend.PrepareKinds(t.Context()))
	all.check(t, s)
	for name, stats := range misleading {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, s.backend.do(t.Context(), 1, func(t *txn) error {
				err := t.c.Exec("ANALYZE; DELETE FROM sqlite_stat1")
				for index, stat := range stats {
					table := index
					if index == "hwt_due" || index == "hwt_kind" {
						table = "hwt_entries"
					}
					if err == nil {
						_, err = t.c.query("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT))").
							blob(table).blob(index).blob(stat).exec()
					}
				}
				if err == nil { // connections read the statistics with the schema
					err = t.c.Exec("CREATE TABLE changed (x); DROP TABLE changed")
				}
				return err
			}))
			all.check(t, s)
		})
	}
}

// check is requirePlans with the statistics of the file.
func (all texts) check(t *testing.T, s *Store) {
	require.NoError(t, s.backend.apart(t.Context(), func(c *conn) error {
		for sql := range all {
			inner := make(map[string]bool) // names of subqueries
			err := c.query("EXPLAIN QUERY PLAN " + sql).each(func(q *query) error {
				detail := q.s.ColumnText(3)
				for _, part := range []string{"TEMP B-TREE", "AUTOMATIC", "ANY("} {
					assert.NotContains(t, detail, part, sql)
				}
				if name, ok := strings.CutPrefix(detail, "CO-ROUTINE "); ok {
					inner[name] = true
				}
				table, scans := strings.CutPrefix(detail, "SCAN ")
				assert.False(t, scans && !inner[table] && !isSmall(table) && !isLimited(table, sql), "%s: %s", detail, sql)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// isSmall reports whether a table has a row for each worker, limit, or pause. w and p are the names of such tables.
func isSmall(table string) bool {
	name, _, _ := strings.Cut(table, " ")
	switch name {
	case "hwt_workers", "hwt_limits", "hwt_pauses", "hwt_permits", "hwt_store", "w", "p", "sqlite_schema", "CONSTANT":
		return true
	}
	return strings.HasPrefix(name, "pragma_")
}

// isLimited reports whether a statement reads the first rows by their due times.
func isLimited(table, sql string) bool {
	return strings.Contains(table, "INDEX hwt_due") && strings.Contains(sql, "ORDER BY due") && strings.Contains(sql, "LIMIT")
}

// requireAll fails the test unless the statements contain each part of a statement in the source, except those that read
// all rows on purpose or change the tables.
func (all texts) requireAll(t *testing.T) {
	joined := strings.Builder{}
	for sql := range all {
		joined.WriteString(sql + "\n")
	}
	known := joined.String()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "schema.go" || name == "operate.go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				part, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				if strings.Contains(part, "hwt_") && !strings.Contains(part, "CREATE") && !strings.Contains(part, "DROP") {
					assert.Contains(t, known, part, name)
				}
			}
			return true
		})
	}
}
