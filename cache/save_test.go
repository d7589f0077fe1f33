package cache_test

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cache"
)

// saved returns the output of Save.
func saved(tb testing.TB, c *cache.Cache[string, int]) string {
	tb.Helper()
	var b bytes.Buffer
	require.NoError(tb, c.Save(&b))
	return b.String()
}

// load is Load where it must not fail.
func load(tb testing.TB, c *cache.Cache[string, int], input string) (loaded int) {
	tb.Helper()
	loaded, err := c.Load(strings.NewReader(input))
	require.NoError(tb, err)
	return loaded
}

func TestLoadedEntryKeepsItsDueTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, o := range []options{{ExactExpiry: true}, {Jitter: 0.9}, {Limit: 3}} {
			jitter := o.Jitter
			o.Jitter = 0
			from := newCache(t, o)
			set(t, from, "minute", 1)
			setFor(t, from, "hour", 2, time.Hour)
			setFor(t, from, "never", 3, cache.NoExpiry)
			file := saved(t, from)
			from.Close()

			pass(30 * time.Minute)
			o.Jitter = jitter
			to := newCache(t, o)
			assert.Equal(t, 2, load(t, to, file), "one is overdue")
			assert.Equal(t, map[string]int{"hour": 2, "never": 3}, maps.Collect(to.All()))
			left, _ := to.TTL("hour")
			assert.Equal(t, 30*time.Minute, left)
			left, _ = to.TTL("never")
			assert.Equal(t, cache.NoExpiry, left)
			pass(30*time.Minute + time.Second)
			assert.Equal(t, map[string]int{"never": 3}, maps.Collect(to.All()))
		}
	})
}

func TestLoadedEntryKeepsItsIdleTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := options{Sliding: 20 * time.Minute}
		from := newCache(t, o)
		setFor(t, from, "idle", 1, time.Hour)
		setFor(t, from, "idle for good", 2, cache.NoExpiry)
		pass(10 * time.Minute)
		setFor(t, from, "used", 3, time.Hour)
		file := saved(t, from)
		pass(5 * time.Minute)

		to := newCache(t, o)
		assert.Equal(t, 3, load(t, to, file))
		for key, want := range map[string]time.Duration{"idle": 5 * time.Minute, "idle for good": 5 * time.Minute, "used": 15 * time.Minute} {
			left, _ := to.TTL(key)
			assert.Equal(t, want, left, key)
		}
		for range 10 {
			pass(4 * time.Minute)
			assert.True(t, has(to, "idle for good"))
		}
		pass(11 * time.Minute)
		assert.False(t, has(to, "idle"), "the TTL has passed")

		plain := newCache(t, options{})
		assert.Zero(t, load(t, plain, file), "all are overdue")
		short := newCache(t, options{Sliding: time.Second})
		setFor(t, from, "idle", 1, time.Hour)
		assert.Equal(t, 1, load(t, short, saved(t, from)))
		left, _ := short.TTL("idle")
		assert.Equal(t, time.Second, left, "Sliding bounds its lifetime")
	})
}

func TestLoadOverwritesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		from := newCache(t, options{})
		set(t, from, "a", 1)
		set(t, from, "b", 1)
		set(t, from, "c", 1)
		file := saved(t, from)

		to := newCache(t, options{})
		set(t, to, "a", 2)
		go to.GetOrFetch(t.Context(), "b", slowly(2))
		synctest.Wait()
		assert.Equal(t, 2, load(t, to, file))
		assert.True(t, holds(to, "a", 2))
		assert.True(t, holds(to, "b", 1), "until the fetch returns")
		assert.True(t, holds(to, "c", 1))
		pass(2 * time.Second)
		assert.True(t, holds(to, "b", 2), "a fetched value is newer")
	})
}

// A wall clock that is five years behind sees all times of the input five years later.
func TestLoadWithTheClockBehindAddsNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, options{Sliding: 30 * time.Second})
		set(t, c, "a", 1)
		require.NoError(t, c.SetWithTTL("b", 1, time.Hour))
		time.Sleep(10 * time.Second)
		var b strings.Builder
		require.NoError(t, c.Save(&b))
		later := strings.ReplaceAll(b.String(), "\"2000-", "\"2005-")
		require.NotEqual(t, b.String(), later)
		to := newCache(t, options{})
		loaded, err := to.Load(strings.NewReader(later))
		require.NoError(t, err)
		assert.Equal(t, 2, loaded)
		for key, want := range map[string]time.Duration{"a": 50 * time.Second, "b": time.Hour - 10*time.Second} {
			left, ok := to.TTL(key)
			assert.True(t, ok)
			assert.Equal(t, want, left, key)
		}
	})
}

func TestMalformedInputLoadsNothing(t *testing.T) {
	const (
		head = `{"format":"hwt cache 1"}` + "\n"
		good = `{"key":"b","value":2}` + "\n"
		foot = `{"entries":1,"saved":"2000-01-01T00:00:00Z"}` + "\n"
	)
	c := newCache(t, options{})
	set(t, c, "a", 1)
	for input, want := range map[string]string{
		"":                                "line 1: the input ends without",
		"hello\n":                         `line 1: "hello\n" (expected: {"format":"hwt cache 1"})`,
		`{"format":"hwt cache 2"}` + "\n": `line 1: "{\"format\":\"hwt cache 2\"}`,
		head:                              "line 2: the input ends without",
		head + good:                       "line 3: the input ends without",
		head + good + `{"entries":`:       "line 3: the input ends without",
		head + good + `{"entries":2,"saved":"2000-01-01T00:00:00Z"}` + "\n": "line 3: 2 entries were saved, but the input has 1",
		head + good + foot + good:                                        "line 4: the input continues",
		head + good + "\n" + foot:                                        "line 3: unexpected end of JSON input",
		head + good + `{"value":2}` + "\n" + foot:                        `line 3: "{\"value\":2}\n" has no key or no value`,
		head + good + `{"key":1,"value":2}` + "\n" + foot:                "line 3: key: json: cannot unmarshal number",
		head + good + `{"key":"x","value":"y"}` + "\n" + foot:            "line 3: value: json: cannot unmarshal string",
		head + good + `{"key":"x","value":1,"due":3}` + "\n" + foot:      "line 3: ",
		head + `{"key":"x","value":1,"deadline":"soon"}` + "\n" + foot:   "line 2: parsing time",
		head + `{"key":"x","value":1,"deadline":null,"due":tru` + "\n":   "line 2: invalid character",
		head + good + `{"entries":1}` + "\n":                             "line 3: the time of the Save is missing",
		strings.Repeat("x", 100) + "\n":                                  "line 1: \"" + strings.Repeat("x", 40) + "\" (",
		head + good + `{"key":"x","value":` + strings.Repeat("[", 20000): "line 3: the input ends without",
	} {
		loaded, err := c.Load(strings.NewReader(input))
		assert.ErrorContains(t, err, "cache: Load: "+want, input)
		assert.Zero(t, loaded)
		assert.Equal(t, map[string]int{"a": 1}, maps.Collect(c.All()), input)
	}
}

func TestKeysThatCannotBeFoundAgainAreNotLoaded(t *testing.T) {
	c, err := cache.New[any, int](time.Minute, nil)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Load(strings.NewReader(`{"format":"hwt cache 1"}` + "\n" + `{"key":[1],"value":1}` + "\n" + `{"entries":1,"saved":"2000-01-01T00:00:00Z"}` + "\n"))
	assert.ErrorIs(t, err, cache.ErrInvalidKey)
	assert.ErrorContains(t, err, "line 2")
}

type brokenFile struct{ err error }

func (f brokenFile) Read([]byte) (int, error)  { return 0, f.err }
func (f brokenFile) Write([]byte) (int, error) { return 0, f.err }

func TestSaveAndLoadReturnTheErrorsOfFiles(t *testing.T) {
	c := newCache(t, options{})
	set(t, c, "a", 1)
	broken := errors.New("disk is full")
	assert.ErrorIs(t, c.Save(brokenFile{broken}), broken)
	_, err := c.Load(brokenFile{broken})
	assert.ErrorIs(t, err, broken)

	floats, err := cache.New[string, float64](time.Minute, nil)
	require.NoError(t, err)
	defer floats.Close()
	require.NoError(t, floats.Set("pi", math.NaN()))
	assert.ErrorContains(t, floats.Save(&bytes.Buffer{}), "cache: Save: key pi: json: unsupported value: NaN")

	file := saved(t, c)
	c.Close()
	_, err = c.Load(strings.NewReader(file))
	assert.ErrorIs(t, err, cache.ErrClosed)
}

// FuzzLoad loads arbitrary input. Load changes the cache only if all input is well
// formed, and the loaded entries survive another Save and Load.
func FuzzLoad(f *testing.F) {
	const head = `{"format":"hwt cache 1"}` + "\n"
	f.Add([]byte(head + `{"entries":0,"saved":"2000-01-01T00:00:00Z"}` + "\n"))
	f.Add([]byte(head + `{"key":"b","value":2,"deadline":"2100-01-01T00:00:00Z"}` + "\n" + `{"entries":1,"saved":"2000-01-01T00:00:00Z"}` + "\n"))
	f.Add([]byte(head + `{"key":"a","value":2,"due":"2100-01-01T00:00:00Z"}` + "\n" + `{"entries":1,"saved":"2000-01-01T00:00:00Z"}` + "\n"))
	f.Add([]byte(head + `{"key":"b","value":2,"deadline":"0000-01-01T00:00:00Z"}` + "\n" + `{"entries":1,"saved":"2000-01-01T00:00:00Z"}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		bubble(t, func(t *testing.T) { // at a fixed time
			c := newCache(t, options{})
			set(t, c, "a", 1)
			loaded, err := c.Load(bytes.NewReader(data))
			assert.Equal(t, 1+loaded, c.Len())
			assert.True(t, holds(c, "a", 1), "entries are not overwritten")
			if err != nil {
				assert.Zero(t, loaded)
			}
			again := newCache(t, options{})
			assert.Equal(t, c.Len(), load(t, again, saved(t, c)))
			for key, value := range c.All() {
				assert.True(t, holds(again, key, value))
				want, _ := c.TTL(key)
				got, _ := again.TTL(key)
				assert.Equal(t, want, got)
			}
		})
	})
}
