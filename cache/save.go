package cache

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// saveFormat identifies the output of Save in the first line.
const saveFormat = "hwt cache 1"

// saveHeader is the first line of the output of Save.
type saveHeader struct {
	Format string `json:"format"`
}

// savedEntry is a line of the output of Save.
type savedEntry struct {
	Key      json.RawMessage `json:"key"`
	Value    json.RawMessage `json:"value"`
	Deadline *time.Time      `json:"deadline,omitempty"` // the end of the TTL; nil if the entry does not expire
	Due      *time.Time      `json:"due,omitempty"`      // the end of the idle time; only with Sliding
}

// saveFooter is the last line of the output of Save. Without the footer, the output is
// incomplete.
type saveFooter struct {
	Entries *int      `json:"entries"`
	Saved   time.Time `json:"saved"` // the end of the Save
}

// Save writes the entries with due times to w, for [Cache.Load]. The format is JSON lines:
// keys and values must survive package encoding/json. Due times are in wall-clock time, so
// an entry also expires while the program is not running.
//
// Save takes time proportional to the number of entries. Concurrent changes may or
// may not be saved. To replace a file, write to a new file and rename it: Load
// rejects the output of a Save that was interrupted.
//
// Save returns the error of w, or an error of encoding/json with the key.
func (c *Cache[K, V]) Save(w io.Writer) error {
	b := bufio.NewWriter(w)
	lines := json.NewEncoder(b)
	err := lines.Encode(saveHeader{saveFormat})
	n := 0
	c.items.Range(func(key K, it item[V]) bool {
		it, left, ok := c.left(key, it)
		if err != nil || !ok {
			return err == nil
		}
		var e savedEntry
		if e, err = c.save(key, it, left); err != nil {
			err = fmt.Errorf("cache: Save: key %v: %w", key, err)
			return false
		}
		n++
		err = lines.Encode(e)
		return err == nil
	})
	if err == nil {
		err = lines.Encode(saveFooter{&n, time.Now().UTC()})
	}
	if err != nil {
		return err
	}
	return b.Flush()
}

// save returns the line for the item of key. An unused item lives for left.
func (c *Cache[K, V]) save(key K, it item[V], left time.Duration) (e savedEntry, err error) {
	if e.Key, err = json.Marshal(key); err != nil {
		return e, err
	}
	if e.Value, err = json.Marshal(it.value); err != nil {
		return e, err
	}
	now := time.Now()
	if it.deadline != never {
		at := now.Add(time.Duration(it.deadline - c.now())).UTC()
		e.Deadline = &at
	}
	if c.options.Sliding > 0 && left != NoExpiry {
		at := now.Add(left).UTC()
		e.Due = &at
	}
	return e, nil
}

// Load stores the entries that [Cache.Save] has written, with the due times, and returns the
// number of stored entries. Load skips entries that are overdue and keys that have an entry.
// If a fetch of the key is running, the fetched value replaces the loaded value. With
// Sliding, the time since an entry's last use continues to count: an unused entry expires as
// without Save and Load, and at most Sliding after the Load. No entry has more time left
// than at the Save, even if the wall clock is behind, as on a device that starts in 1970
// without a network.
//
// Load reads all of r before it stores the first entry, and takes time and memory
// proportional to the length of r. On malformed or incomplete input, Load returns an error
// that names the line, and the cache is unchanged.
//
// Load returns ErrClosed or an error of the timer's NewTimeout like Set. The entries
// counted until then stay in the cache.
func (c *Cache[K, V]) Load(r io.Reader) (loaded int, err error) {
	l := loader[K, V]{r: bufio.NewReader(r), ok: c.check.OK}
	if err := l.read(); err != nil {
		return 0, fmt.Errorf("cache: Load: line %d: %w", l.line, err)
	}
	for _, e := range l.entries {
		ttl, idle := l.timeLeft(e.deadline), l.timeLeft(e.due)
		if min(ttl, idle) <= 0 {
			continue
		}
		stored, err := c.put(write[V]{value: e.value, ttl: ttl, idle: idle, ifAbsent: true, loaded: true}, e.key)
		if err != nil {
			return loaded, fmt.Errorf("cache: Load: key %v: %w", e.key, err)
		}
		if stored {
			loaded++
		}
	}
	return loaded, nil
}

// timeLeft returns the time until at, but no more than the time that was left at the Save,
// or NoExpiry if at is nil.
func (l *loader[K, V]) timeLeft(at *time.Time) time.Duration {
	if at == nil {
		return NoExpiry
	}
	return min(time.Until(*at), at.Sub(l.saved))
}

// loader reads the output of Save.
type loader[K comparable, V any] struct {
	r       *bufio.Reader
	ok      func(K) bool
	line    int // the number of the line that was read last
	entries []loadedEntry[K, V]
	saved   time.Time // the end of the Save
}

type loadedEntry[K comparable, V any] struct {
	key           K
	value         V
	deadline, due *time.Time
}

// read reads all lines.
func (l *loader[K, V]) read() error {
	line, err := l.next()
	if err != nil {
		return err
	}
	var header saveHeader
	if json.Unmarshal(line, &header) != nil || header.Format != saveFormat {
		return fmt.Errorf("%.40q (expected: {\"format\":%q})", line, saveFormat)
	}
	for {
		if line, err = l.next(); err != nil {
			return err
		}
		var footer saveFooter
		if json.Unmarshal(line, &footer) == nil && footer.Entries != nil {
			return l.end(footer)
		}
		if err := l.add(line); err != nil {
			return err
		}
	}
}

// next returns the next line.
func (l *loader[K, V]) next() ([]byte, error) {
	l.line++
	line, err := l.r.ReadBytes('\n')
	if err == io.EOF {
		return nil, fmt.Errorf("the input ends without the number of entries: %w", io.ErrUnexpectedEOF)
	}
	return line, err
}

// end checks the number of entries and the time of the Save, and that nothing follows.
func (l *loader[K, V]) end(f saveFooter) error {
	if *f.Entries != len(l.entries) {
		return fmt.Errorf("%d entries were saved, but the input has %d", *f.Entries, len(l.entries))
	}
	if l.saved = f.Saved; f.Saved.IsZero() {
		return errors.New("the time of the Save is missing (expected: \"saved\")")
	}
	l.line++
	switch _, err := l.r.ReadByte(); err {
	case io.EOF:
		return nil
	case nil:
		return errors.New("the input continues after the number of entries")
	default:
		return err
	}
}

// add reads the entry in line.
func (l *loader[K, V]) add(line []byte) error {
	var e savedEntry
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	if e.Key == nil || e.Value == nil {
		return fmt.Errorf("%.40q has no key or no value", line)
	}
	out := loadedEntry[K, V]{deadline: e.Deadline, due: e.Due}
	if err := json.Unmarshal(e.Key, &out.key); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if err := json.Unmarshal(e.Value, &out.value); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	if !l.ok(out.key) {
		return fmt.Errorf("key: %w", ErrInvalidKey)
	}
	l.entries = append(l.entries, out)
	return nil
}
