package postgres

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hashedwheel/hwt/durable/backend"
)

// columnNames are the columns of the table entry in the order of [columns].
var columnNames = [...]struct{ name, kind string }{
	{"key", "bytea"}, {"slot", "int8"}, {"generation", "int8"}, {"due", "int8"}, {"not_after", "int8"},
	{"origin", "int8"}, {"nonce", "int8"}, {"holder", "int4"}, {"checksum", "int4"}, {"attempt", "int4"},
	{"state", "int2"}, {"every", "bytea"}, {"schedule", "bytea"}, {"payload", "bytea"},
	{"crashes", "int2"}, {"grp", "bytea"}, {"headers", "bytea"}, {"last", "bytea"},
}

// columnList returns the column names, each after a prefix.
func columnList(prefix string) string {
	var names []string
	for _, c := range columnNames {
		names = append(names, prefix+c.name)
	}
	return strings.Join(names, ", ")
}

// columns are rows as arrays, one per column. unnest turns them into rows again.
type columns struct {
	key, every, schedule, payload                  [][]byte
	group, headers, last                           [][]byte
	slot, generation, due, notAfter, origin, nonce []int64
	holder, checksum, attempt, state, crashes      []int64
}

func (c *columns) add(r *backend.Row) {
	c.key = append(c.key, []byte(r.Key))
	c.slot = append(c.slot, int64(r.Slot()))
	c.generation = append(c.generation, int64(r.Generation))
	c.due = append(c.due, r.Due)
	c.notAfter = append(c.notAfter, r.NotAfter)
	c.origin = append(c.origin, int64(r.Origin))
	c.nonce = append(c.nonce, int64(r.Nonce))
	c.holder = append(c.holder, r.Holder)
	c.checksum = append(c.checksum, int64(int32(r.Checksum()))) // an int4
	c.attempt = append(c.attempt, int64(r.Attempt))
	c.state = append(c.state, int64(r.State))
	c.every = append(c.every, []byte(r.Every))
	c.schedule = append(c.schedule, []byte(r.Schedule))
	c.payload = append(c.payload, append([]byte{}, r.Payload...)) // a nil slice would be NULL
	c.crashes = append(c.crashes, r.StoredCrashes())
	c.group = append(c.group, []byte(r.Group))
	c.headers = append(c.headers, []byte(r.Headers))
	c.last = append(c.last, []byte(r.Last))
}

func (c *columns) args() []any {
	return []any{c.key, c.slot, c.generation, c.due, c.notAfter, c.origin, c.nonce, c.holder, c.checksum,
		c.attempt, c.state, c.every, c.schedule, c.payload, c.crashes, c.group, c.headers, c.last}
}

// scanner reads the columns of one result row.
type scanner func(dest ...any) error

// scanRow reads the columns of columnList and verifies the checksum.
func scanRow(scan scanner, more ...any) (backend.Row, error) {
	var r backend.Row
	var key, every, schedule, payload, group, headers, last octets
	var slot, generation, origin, nonce, checksum, state, crashes int64
	dest := append([]any{&key, &slot, &generation, &r.Due, &r.NotAfter, &origin, &nonce, &r.Holder, &checksum,
		&r.Attempt, &state, &every, &schedule, &payload, &crashes, &group, &headers, &last}, more...)
	if err := scan(dest...); err != nil {
		return r, err
	}
	r.Key, r.Every, r.Schedule = string(key), string(every), string(schedule)
	r.Group, r.Headers, r.Last = string(group), string(headers), string(last)
	r.Crashes, r.Tried = backend.CrashesOf(crashes)
	if len(payload) > 0 { // as the other backends return an empty one
		r.Payload = payload
	}
	r.Generation, r.Origin, r.Nonce = uint64(generation), uint64(origin), uint64(nonce)
	r.State, r.Detached = backend.State(state), slot != 0
	return r, r.Verify(uint64(slot), uint32(checksum))
}

// scanDead reads the columns of a dead letter.
func scanDead(scan scanner) (d backend.Dead, err error) {
	var text octets
	d.Row, err = scanRow(scan, &text, &d.GivenUp)
	d.Error = string(text)
	return d, err
}

// octets are a bytea. In the text format of pgx without prepared statements, bytea_output of
// the session decides between two encodings.
type octets []byte

// manyOctets returns texts as a parameter of the type bytea[].
func manyOctets(texts []string) [][]byte {
	all := [][]byte{}
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}

// ScanBytes implements pgtype.BytesScanner, for the binary format.
func (o *octets) ScanBytes(v []byte) error {
	*o = bytes.Clone(v)
	return nil
}

// ScanText implements pgtype.TextScanner, for the text format.
func (o *octets) ScanText(v pgtype.Text) (err error) {
	if digits, ok := strings.CutPrefix(v.String, `\x`); ok {
		*o, err = hex.DecodeString(digits)
		return err
	}
	out := make([]byte, 0, len(v.String))
	for text := v.String; len(text) > 0; {
		n := 1
		c := text[0]
		if c == '\\' && strings.HasPrefix(text, `\\`) {
			n = 2
		} else if c == '\\' && len(text) >= 4 {
			code, err := strconv.ParseUint(text[1:4], 8, 8)
			if err != nil {
				return err
			}
			n, c = 4, byte(code)
		}
		out = append(out, c)
		text = text[n:]
	}
	*o = out
	return nil
}

// Scan implements sql.Scanner.
func (o *octets) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok {
		return fmt.Errorf("a column of type %T (expected: []byte)", v)
	}
	return o.ScanBytes(b)
}

// into returns a function that reads the columns of a row into dest.
func into(dest ...any) func(scanner) error {
	return func(scan scanner) error { return scan(dest...) }
}

// appending returns the function of a query that appends each row to all.
func appending[T any](all *[]T, one func(scanner) (T, error)) func(scanner) error {
	return func(scan scanner) error {
		v, err := one(scan)
		if err == nil {
			*all = append(*all, v)
		}
		return err
	}
}

// each returns a function that appends the one column of each row to all.
func each[T any](all *[]T) func(scanner) error {
	return appending(all, func(scan scanner) (v T, err error) {
		err = scan(&v)
		return v, err
	})
}

// refs are the names of rows as arrays.
type refs struct {
	key        [][]byte
	generation []int64
}

func (r *refs) add(ref backend.Ref) {
	r.key = append(r.key, []byte(ref.Key))
	r.generation = append(r.generation, int64(ref.Generation))
}

func (r *refs) at(i int) backend.Ref {
	return backend.Ref{Key: string(r.key[i]), Generation: uint64(r.generation[i])}
}

// refsAt returns the names of the rows of outcomes at positions.
func refsAt(outcomes []backend.Outcome, at []int) (r refs) {
	for _, i := range at {
		r.add(outcomes[i].Ref)
	}
	return r
}

// scanPositions marks elements of an array by their positions, counted from 1.
func scanPositions(found []bool) func(scanner) error {
	return func(scan scanner) error {
		var n int64
		err := scan(&n)
		if err == nil {
			found[n-1] = true
		}
		return err
	}
}
