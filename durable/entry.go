package durable

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hashedwheel/hwt/durable/backend"
)

// Entry is one timer of a store. Methods that store an entry take all fields from the caller
// except Generation and Attempt. They fill in these two.
type Entry struct {
	// Key identifies the entry. It has 1 to 512 bytes. For a [Mux], it begins with the kind and a slash.
	Key string

	// Due is the time at which the entry fires, to the nanosecond, in UTC, on the database's clock. A
	// one-shot needs it; [time.Now] makes an entry fire immediately, and time.Now().Add(d) after a delay: a
	// call that is repeated after an error then keeps the time. The Due time of a
	// retry is the end of its pause, not the time of the first attempt.
	Due time.Time

	// NotAfter is the latest time to fire. An entry that could not fire by that time, for example because it
	// waited for a limit, becomes a dead letter. The zero time is no limit. Recurring entries use Every.Missed instead.
	NotAfter time.Time

	// Payload is passed to the handler. It has at most 1 MiB. An empty one is returned as nil.
	Payload []byte

	// Generation is the version. It grows with each Set, Move, and retry, and with each
	// occurrence of a recurring entry. See [Firing] for its use as a fence.
	Generation uint64

	// Attempt is the number of the next attempt, from 1, or of the current one in a
	// handler.
	Attempt int

	// Every is the recurrence. It is zero for a one-shot.
	Every Every

	// Group is the name of a group of entries, such as a tenant. It has at most 128 bytes. The
	// entries without a group, "", are a group, too. Move, retries, Requeue, and further occurrences
	// keep the group.
	//
	// Groups take turns at the handlers of a kind: a due entry waits for the entries of its group
	// before it, and for one entry of each other group per entry of its group. A group may hold a share of
	// WorkOptions.MaxHeld. A worker leaves further entries of the group in the database, and passes over them to the
	// entries of other groups. It passes over up to 32 groups. The entries of more groups with backlogs are
	// taken in the order of due times.
	Group string

	// Headers are passed to the handler with the Payload, for example a trace context. Names and
	// values have at most 8 KiB in total, including 1 or 2 bytes for the length of each. A name has
	// at least 1 byte. Move, retries, Requeue, and further occurrences keep the headers. An empty
	// map is returned as nil.
	Headers map[string]string
}

// Kind returns the kind of the entry for a [Mux]: the part of the Key before the first slash, or "" without a slash.
func (e Entry) Kind() string { return strings.TrimSuffix(backend.KindOf(e.Key), "/") }

// Name returns the part of the Key after the first slash, or the Key without a slash.
func (e Entry) Name() string { return e.Key[len(backend.KindOf(e.Key)):] }

func entryOf(r *backend.Row) (Entry, error) {
	var every Every
	if r.Every != "" {
		var err error
		if every, err = decodeEvery(r.Every, r.Schedule); err != nil {
			return Entry{Key: r.Key}, fmt.Errorf("%w: recurrence: %w", ErrDamaged, err)
		}
	}
	headers, err := decodeHeaders(r.Headers)
	if err != nil {
		return Entry{Key: r.Key}, fmt.Errorf("%w: headers: %w", ErrDamaged, err)
	}
	e := Entry{
		Key:        r.Key,
		Payload:    r.Payload,
		Generation: r.Generation,
		Attempt:    r.Attempt,
		Every:      every,
		Group:      r.Group,
		Headers:    headers,
	}
	if len(e.Payload) == 0 {
		e.Payload = nil // some databases return an empty slice
	}
	if r.Due != 0 { // 0 is the time of a damaged entry
		e.Due = time.Unix(0, r.Due).UTC()
	}
	if r.NotAfter != 0 && r.Every == "" {
		e.NotAfter = time.Unix(0, r.NotAfter).UTC()
	}
	return e, nil
}

func firingID(r *backend.Row) string { return fmt.Sprintf("%x-%016x", r.Origin, r.Nonce) }

// newNonce returns the random part of a firing's ID.
func newNonce() uint64 { return rand.Uint64() }

// row returns the row that stores e.
func (e Entry) row(maxPayload int) (row backend.Row, err error) {
	if err := checkKey(e.Key); err != nil {
		return row, err
	}
	if len(e.Payload) > maxPayload {
		return row, invalid("payload of %d bytes (expected: up to %d)", len(e.Payload), maxPayload)
	}
	if len(e.Group) > maxGroupSize {
		return row, invalid("group %.32q of %d bytes (expected: up to %d)", e.Group, len(e.Group), maxGroupSize)
	}
	headers, err := encodeHeaders(e.Headers)
	if err != nil {
		return row, err
	}
	row = backend.Row{
		Key:     e.Key,
		Group:   e.Group,
		Headers: headers,
		Payload: bytes.Clone(e.Payload), // a worker may hold it after the call
		Attempt: 1,
		Nonce:   newNonce(),
	}
	if row.Due, err = checkTime("due time", e.Due); err != nil {
		return row, err
	}
	if e.Every != (Every{}) {
		if err := e.Every.check(); err != nil {
			return row, err
		}
		row.Every, row.Schedule = e.Every.encode()
	}
	if !e.NotAfter.IsZero() {
		if row.Every != "" {
			return row, invalid("NotAfter of a recurring entry (expected: Every.Missed)")
		}
		if row.NotAfter, err = checkTime("NotAfter", e.NotAfter); err != nil {
			return row, err
		}
		if row.NotAfter < row.Due {
			return row, invalid("NotAfter %s (expected: %s, the due time, or later)",
				e.NotAfter.Format(time.RFC3339Nano), e.Due.Format(time.RFC3339Nano))
		}
	}
	return row, nil
}

const (
	maxKeySize   = 512
	maxGroupSize = 128
)

func checkKey(key string) error {
	if key == "" || len(key) > maxKeySize {
		return invalid("key %.32q of %d bytes (expected: 1 to %d)", key, len(key), maxKeySize)
	}
	return nil
}

// The range of due times: all positive nanoseconds of an int64, up to the year 2262.
var (
	minDue = time.Unix(0, 1)
	maxDue = time.Unix(0, math.MaxInt64)
)

// checkTime returns t in nanoseconds, or an error that names the argument.
func checkTime(name string, t time.Time) (int64, error) {
	if t.Before(minDue) || t.After(maxDue) {
		return 0, invalid("%s %s (expected: %s to %s)", name, t.Format(time.RFC3339Nano),
			minDue.UTC().Format(time.RFC3339Nano), maxDue.UTC().Format(time.RFC3339))
	}
	return t.UnixNano(), nil
}

const maxHeadersSize = 8 << 10

// encodeHeaders returns the column Headers of a row: names and values in the order of the names,
// each after its length. Equal maps have equal encodings.
func encodeHeaders(headers map[string]string) (string, error) {
	if len(headers) == 0 {
		return "", nil
	}
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name]
		if name == "" {
			return "", invalid(`header "" with the value %.32q (expected: a name of 1 byte or more)`, value)
		}
		text = appendText(appendText(text, name), value)
		if len(text) > maxHeadersSize {
			return "", invalid("headers that exceed %d bytes at header %.32q (expected: up to %d in total)", maxHeadersSize, name, maxHeadersSize)
		}
	}
	return string(text), nil
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

func decodeHeaders(text string) (headers map[string]string, err error) {
	if text == "" {
		return nil, nil
	}
	headers = make(map[string]string)
	for rest := []byte(text); len(rest) > 0; {
		var parts [2]string
		for i := range parts {
			n, size := binary.Uvarint(rest)
			if size <= 0 || n > uint64(len(rest)-size) {
				return nil, fmt.Errorf("%.64q (expected: lengths and texts)", text)
			}
			end := size + int(n)
			parts[i], rest = string(rest[size:end]), rest[end:]
		}
		headers[parts[0]] = parts[1]
	}
	return headers, nil
}
