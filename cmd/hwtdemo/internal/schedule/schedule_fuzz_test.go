package schedule_test

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
)

// FuzzRead reads arbitrary text. Writing and reading accepted rows must not change them.
func FuzzRead(f *testing.F) {
	addLines(f, "shop-day.csv", 20)
	addLines(f, "bad.csv", 100)
	f.Add([]byte("id,delay,message\na,1ns,\" \"\"x\r\"\n"))
	f.Add([]byte("\ufeffid,delay\r\n#1,2562047h47m16.854775807s\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := schedule.Read(bytes.NewReader(text), schedule.Limits{LineBytes: 1000, Rows: 1000, Bytes: 100_000})
		if err != nil {
			return
		}
		for _, row := range s.Rows {
			checkRow(t, row)
		}
	})
}

// addLines seeds the corpus with the first lines of a file, each alone below a header,
// because the fuzzer is slow with whole files.
func addLines(f *testing.F, file string, count int) {
	text, err := os.ReadFile(filepath.Join(testdata, file))
	require.NoError(f, err)
	for line := range bytes.Lines(text) {
		if count--; count >= 0 {
			f.Add(append([]byte("at,op,id,delay,message\n"), line...))
		}
	}
}

// checkRow checks that the fields of Row are in their ranges, and survive a round trip.
func checkRow(t *testing.T, row schedule.Row) {
	require.NotEmpty(t, row.ID)
	require.GreaterOrEqual(t, row.At, schedule.Row{}.At)
	require.GreaterOrEqual(t, row.Delay, schedule.Row{}.Delay)
	var text strings.Builder
	w := csv.NewWriter(&text)
	require.NoError(t, w.Write([]string{"at", "op", "id", "delay", "message"}))
	if row.Op != schedule.Start {
		require.NoError(t, w.Write([]string{"0", "schedule", row.ID, "1s", ""}))
	}
	require.NoError(t, w.Write([]string{row.At.String(), string(row.Op), row.ID, row.Delay.String(), row.Message}))
	w.Flush()
	s := read(t, text.String())
	require.Empty(t, problems(s), "%q", text.String())
	got := s.Rows[len(s.Rows)-1]
	row.Line = got.Line
	assert.Equal(t, row, got, "%q", text.String())
}
