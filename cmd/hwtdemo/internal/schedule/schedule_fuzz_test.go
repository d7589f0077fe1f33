package schedule_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
)

// FuzzRead feeds any text to both parsers. What they accept must stay the same when
// it is written and read again, in either format.
func FuzzRead(f *testing.F) {
	addLines(f, "shop-day.csv", "at,op,id,delay,message\n", 20)
	addLines(f, "bad.csv", "at,op,id,delay,message\n", 100)
	addLines(f, "shop-day.jsonl", "", 20)
	f.Add([]byte("id,delay,message\na,1ns,\" \"\"x\r\"\n"), false)
	f.Add([]byte("\ufeffid,delay\r\n#1,2562047h47m16.854775807s\r\n"), false)
	f.Fuzz(func(t *testing.T, text []byte, isJSON bool) {
		format := schedule.CSV
		if isJSON {
			format = schedule.JSONL
		}
		limits := schedule.Limits{LineBytes: 1000, Rows: 1000, Bytes: 100_000}
		s, err := schedule.Read(bytes.NewReader(text), format, limits)
		if err != nil {
			return
		}
		for _, row := range s.Rows {
			checkRow(t, row)
		}
	})
}

// addLines seeds the corpus with the first lines of a file, each alone below
// header, because the fuzzer is slow with whole files.
func addLines(f *testing.F, file, header string, count int) {
	text, err := os.ReadFile(filepath.Join(testdata, file))
	require.NoError(f, err)
	for line := range bytes.Lines(text) {
		if count--; count >= 0 {
			f.Add(append([]byte(header), line...), strings.HasSuffix(file, "jsonl"))
		}
	}
}

// checkRow checks the promises of Row's fields, and the round trip.
func checkRow(t *testing.T, row schedule.Row) {
	require.NotEmpty(t, row.ID)
	require.GreaterOrEqual(t, row.At, schedule.Row{}.At)
	require.GreaterOrEqual(t, row.Delay, schedule.Row{}.Delay)
	if !strings.Contains(row.Message, "\n") {
		checkRoundTrip(t, schedule.CSV, inCSV(t, row), row)
	}
	checkRoundTrip(t, schedule.JSONL, inJSON(t, row), row)
}

// checkRoundTrip expects row to be the last one in text.
func checkRoundTrip(t *testing.T, format schedule.Format, text string, row schedule.Row) {
	s := read(t, format, text)
	require.Empty(t, problems(s), "%q", text)
	got := s.Rows[len(s.Rows)-1]
	row.Line = got.Line
	assert.Equal(t, row, got, "%q", text)
}

func fieldsOf(row schedule.Row) []string {
	return []string{row.At.String(), string(row.Op), row.ID, row.Delay.String(), row.Message}
}

func inCSV(t *testing.T, row schedule.Row) string {
	var text strings.Builder
	w := csv.NewWriter(&text)
	require.NoError(t, w.Write([]string{"at", "op", "id", "delay", "message"}))
	if row.Op != schedule.Start {
		require.NoError(t, w.Write([]string{"0", "schedule", row.ID, "1s", ""}))
	}
	require.NoError(t, w.Write(fieldsOf(row)))
	w.Flush()
	return text.String()
}

func inJSON(t *testing.T, row schedule.Row) string {
	line := func(at, op, id, delay, message string) string {
		text, err := json.Marshal(map[string]string{
			"at": at, "op": op, "id": id, "delay": delay, "message": message,
		})
		require.NoError(t, err)
		return string(text) + "\n"
	}
	fields := fieldsOf(row)
	text := line(fields[0], fields[1], fields[2], fields[3], fields[4])
	if row.Op != schedule.Start {
		text = line("0", "schedule", row.ID, "1s", "") + text
	}
	return text
}
