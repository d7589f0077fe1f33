package postgres

import (
	"slices"
	"strings"
)

// Statements run in sessions with a search_path of the user, and in the user's transactions. A
// schema on that path may belong to somebody else, who may create functions and operators
// there: PostgreSQL prefers a function that fits the types of the arguments better than a
// built-in function, and runs such a function with the privileges of the caller
// (CVE-2018-1058). For this reason, qualified puts pg_catalog before every name.
//
// Three conventions make this possible without a parser:
//
//   - The parenthesis of a function call follows the name immediately. A space precedes every
//     other parenthesis, such as that of a list of columns.
//   - OPERATOR(pg_catalog.+) binds like OPERATOR(pg_catalog.=). Parentheses show the order.
//   - BETWEEN, IN, LIKE, DISTINCT FROM, NULLIF, CASE x WHEN y, and JOIN USING look up operators by
//     their bare names. Statements do not use them. Each SET has one assignment.

// syntax are words before a parenthesis that name no function. PostgreSQL looks up an unnest of
// several arrays, which is syntax, in pg_catalog, but only if it is not qualified.
var syntax = []string{"ANY", "EXISTS", "ROW", "VALUES", "coalesce", "extract", "greatest", "least", "unnest"}

// qualified puts pg_catalog before the functions, operators, types, and catalogs of a statement.
// It leaves literals, quoted names, and placeholders in braces unchanged.
func qualified(sql string) string {
	var out strings.Builder
	last, assigned := "", false // the word or symbol before; SET has been read, and not its sign
	for len(sql) > 0 {
		token := next(sql)
		sql = sql[len(token):]
		switch {
		case token == "=" && assigned:
			assigned = false
		case token == "*" && (last == "(" || last == "SELECT"): // all columns
		case isOperator(token[0]):
			token = "OPERATOR(pg_catalog." + token + ")"
		case isWord(token[0]) && last != "." && token != "pg_catalog":
			call := strings.HasPrefix(sql, "(") && !slices.Contains(syntax, token)
			if call || last == "::" || strings.HasPrefix(token, "pg_") {
				token = "pg_catalog." + token
			}
			assigned = assigned || token == "SET"
		}
		out.WriteString(token)
		if strings.TrimSpace(token) != "" {
			last = token
		}
	}
	return out.String()
}

// next returns the first token of sql.
func next(sql string) string {
	end := func(in func(byte) bool) string {
		if i := strings.IndexFunc(sql, func(r rune) bool { return !in(byte(r)) }); i >= 0 {
			return sql[:i]
		}
		return sql
	}
	switch c := sql[0]; {
	case c == '\'' || c == '"' || c == '{':
		closing := map[byte]byte{'\'': '\'', '"': '"', '{': '}'}[c]
		return sql[:strings.IndexByte(sql[1:], closing)+2]
	case strings.HasPrefix(sql, "::"):
		return "::"
	case isWord(c):
		return end(isWord)
	case isOperator(c):
		return end(isOperator)
	default:
		return sql[:1]
	}
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isOperator(c byte) bool { return strings.IndexByte("+-*/<>=~!@#%^&|`?", c) >= 0 }
