package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQualifiedNamesPgCatalog(t *testing.T) {
	for _, c := range []struct{ name, sql, want string }{
		{"function", `SELECT now()`, `SELECT pg_catalog.now()`},
		{"catalog", `SELECT FROM pg_class c`, `SELECT FROM pg_catalog.pg_class c`},
		{"operator", `WHERE a >= $1`, `WHERE a OPERATOR(pg_catalog.>=) $1`},
		{"cast", `$1::int8[]`, `$1::pg_catalog.int8[]`},
		{"assignment", `SET a = b + 1 WHERE c = 2`, `SET a = b OPERATOR(pg_catalog.+) 1 WHERE c OPERATOR(pg_catalog.=) 2`},
		{"all rows", `SELECT count(*), 2 * 3`, `SELECT pg_catalog.count(*), 2 OPERATOR(pg_catalog.*) 3`},
		{"qualified", `pg_catalog.unnest($1)`, `pg_catalog.unnest($1)`},
		{"syntax", `coalesce(a) r (b) ANY(c)`, `coalesce(a) r (b) ANY(c)`},
		{"literal", `'now() = ''x' {s}."a=b"`, `'now() = ''x' {s}."a=b"`},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, qualified(c.sql)) })
	}
}
