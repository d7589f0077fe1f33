package postgres

import (
	"context"
	"database/sql"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// stmt is a statement with its arguments. forSchema fills in the placeholders of the text. row
// is called for each row of the result; nil discards them.
type stmt struct {
	sql  string
	args []any
	row  func(scanner) error
}

func query(row func(scanner) error, sql string, args ...any) stmt { return stmt{sql, args, row} }
func execute(sql string, args ...any) stmt                        { return stmt{sql, args, nil} }

// querier runs statements in order, in one round trip if it can. After an error, a querier
// skips the rest. write is run for the last statements of a transaction that writes.
type querier interface {
	run(ctx context.Context, stmts ...stmt) error
	write(ctx context.Context, stmts ...stmt) error
}

// sender is a connection or a transaction of pgx.
type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// pgxQuerier sends the statements as one batch.
type pgxQuerier struct {
	sender sender
	text   func(sql string) string // of the backend
}

func (q pgxQuerier) write(ctx context.Context, stmts ...stmt) error { return q.run(ctx, stmts...) }

func (q pgxQuerier) run(ctx context.Context, stmts ...stmt) error {
	var batch pgx.Batch
	for _, s := range stmts {
		queued := batch.Queue(q.text(s.sql), s.args...)
		if s.row == nil {
			continue
		}
		queued.Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := s.row(rows.Scan); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	return q.sender.SendBatch(ctx, &batch).Close()
}

// sqlQuerier sends the statements one by one, with arrays as text: drivers of package
// database/sql need not know PostgreSQL's arrays.
type sqlQuerier struct {
	tx   *sql.Tx
	text func(sql string) string // of the backend
}

func (q sqlQuerier) write(ctx context.Context, stmts ...stmt) error { return q.run(ctx, stmts...) }

func (q sqlQuerier) run(ctx context.Context, stmts ...stmt) error {
	for _, s := range stmts {
		if err := q.one(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (q sqlQuerier) one(ctx context.Context, s stmt) error {
	args := make([]any, len(s.args))
	for i, a := range s.args {
		args[i] = arrayText(a)
	}
	rows, err := q.tx.QueryContext(ctx, q.text(s.sql), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if s.row == nil {
			continue
		}
		if err := s.row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// arrayText returns an array as PostgreSQL's literal for it, and other values unchanged.
func arrayText(value any) any {
	var out []string
	switch v := value.(type) {
	case [][]byte:
		for _, b := range v {
			out = append(out, `"\\x`+hex.EncodeToString(b)+`"`)
		}
	case []int64:
		for _, n := range v {
			out = append(out, strconv.FormatInt(n, 10))
		}
	default:
		return value
	}
	return "{" + strings.Join(out, ",") + "}"
}
