package schedule_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/schedule"
)

// read reads a valid schedule.
func read(t *testing.T, text string) *schedule.Schedule {
	t.Helper()
	s, err := schedule.Read(strings.NewReader(text), schedule.DefaultLimits)
	require.NoError(t, err)
	return s
}

// problems returns the problems as "LINE: TEXT".
func problems(s *schedule.Schedule) []string {
	var texts []string
	for _, p := range s.Problems {
		texts = append(texts, fmt.Sprintf("%d: %s", p.Line, p.Text))
	}
	return texts
}

func TestGoodRowsAreRead(t *testing.T) {
	want := []schedule.Row{
		{Line: 2, Op: schedule.Start, ID: "a", Delay: 90 * time.Second, Message: "pay, please"},
		{Line: 3, At: time.Second, Op: schedule.Reset, ID: "a", Delay: time.Minute},
		{Line: 4, At: 2 * time.Second, Op: schedule.Cancel, ID: "a"},
	}
	for name, text := range map[string]string{
		"every column": "at,op,id,delay,message\n" +
			"0,schedule,a,1m30s,\"pay, please\"\n1s,reset,a,1m,\n2s,cancel,a,,\n",
		"any order": "message,delay,id,op,at\n" +
			"\"pay, please\",1m30s,a,schedule,0\n,1m,a,reset,1s\n,,a,cancel,2s\n",
		"defaults": "at,op,id,delay,message\n" +
			",,a,1m30s,\"pay, please\"\n1s,reset,a,1m,\n2s,cancel,a,,\n",
		"byte order mark and CRLF": "\ufeffat,op,id,delay,message\r\n" +
			"0,schedule,a,1m30s,\"pay, please\"\r\n1s,reset,a,1m,\r\n2s,cancel,a,,\r\n",
		"blanks around values": "at, op, id, delay, message\n" +
			" 0 , schedule , a , 1m30s , \"pay, please\"\n1s, reset, a, 1m, \n 2s, cancel, a, , \n",
		"capitals in the header": "At,OP,Id,Delay,MESSAGE\n" +
			"0,schedule,a,1m30s,\"pay, please\"\n1s,reset,a,1m,\n2s,cancel,a,,\n",
		"no end of line at the end": "at,op,id,delay,message\n" +
			"0,schedule,a,1m30s,\"pay, please\"\n1s,reset,a,1m,\n2s,cancel,a,,",
	} {
		t.Run(name, func(t *testing.T) {
			s := read(t, text)
			assert.Empty(t, problems(s))
			assert.Equal(t, want, s.Rows)
		})
	}
}

func TestOnlyIDAndDelayColumnsAreNeeded(t *testing.T) {
	s := read(t, "delay,id\n5s,a\n0,b\n")
	assert.Empty(t, problems(s))
	assert.Equal(t, []schedule.Row{
		{Line: 2, Op: schedule.Start, ID: "a", Delay: 5 * time.Second},
		{Line: 3, Op: schedule.Start, ID: "b"},
	}, s.Rows)
}

func TestRowsAreSortedByTimeStably(t *testing.T) {
	s := read(t, "at,id,delay\n2s,a,0\n1s,b,0\n2s,c,0\n1s,d,0\n")
	var ids string
	for _, row := range s.Rows {
		ids += row.ID
	}
	assert.Equal(t, "bdac", ids)
}

func TestCommentsAndBlankLinesAreSkippedAndCounted(t *testing.T) {
	s := read(t, "# the evening\n\n  \nid,delay\n#\n\r\n# a,1s\na,1s\n#1001,1s\n")
	assert.Empty(t, problems(s))
	assert.Equal(t, []schedule.Row{
		{Line: 8, Op: schedule.Start, ID: "a", Delay: time.Second},
		{Line: 9, Op: schedule.Start, ID: "#1001", Delay: time.Second},
	}, s.Rows)
}

func TestBadRowsAreReportedAndSkipped(t *testing.T) {
	for name, c := range map[string]struct{ row, want string }{
		"unknown op":        {"0,launch,a,1s,", `unknown op "launch": it must be schedule, cancel or reset`},
		"op in capitals":    {"0,Schedule,a,1s,", `unknown op "Schedule": it must be schedule, cancel or reset`},
		"no delay":          {"0,schedule,a,,", "no delay: schedule needs one, such as 1m30s"},
		"reset, no delay":   {"0,reset,x,,", "no delay: reset needs one, such as 1m30s"},
		"bad delay":         {"0,schedule,a,5,", `delay "5" is not a duration such as 250ms, 5s or 1m30s`},
		"huge delay":        {"0,schedule,a,9999999h,", `delay "9999999h" is not a duration such as 250ms, 5s or 1m30s`},
		"negative delay":    {"0,schedule,a,-1s,", `delay "-1s" is negative: it must be 0 or more`},
		"cancel, bad delay": {"0,cancel,x,soon,", `delay "soon" is not a duration such as 250ms, 5s or 1m30s`},
		"bad at":            {"noon,schedule,a,1s,", `at "noon" is not a duration such as 250ms, 5s or 1m30s`},
		"negative at":       {"-1ms,schedule,a,1s,", `at "-1ms" is negative: it must be 0 or more`},
		"no id":             {"0,schedule, ,1s,", "no id: schedule needs one"},
		"control in id":     {"0,schedule,a\x1b[2J,1s,", `id "a\x1b[2J" holds a control character`},
		"NUL in message":    {"0,schedule,a,1s,a\x00b", `message "a\x00b" holds a NUL`},
		"duplicate id":      {"0,schedule,x,1s,", `duplicate id "x": line 2 schedules it already`},
		"unknown id":        {"0,cancel,y,,", `unknown id "y": no good row schedules it`},
		"too early":         {"5ms,cancel,x,,", `unknown id "x" at 5ms: line 2 schedules it only afterwards, at 10ms`},
		"too few columns":   {"0,schedule,a,1s", "wrong number of columns: 4, but the header has 5"},
		"too many columns":  {"0,schedule,a,1s,,", "wrong number of columns: 6, but the header has 5"},
		"not UTF-8":         {"0,schedule,a,1s,\xff", "the line is not valid UTF-8"},
		"open quote":        {`0,schedule,a,1s,"oh`, "a quoted field is not closed on its line, or text follows its closing quote; " + `write a quote inside it twice ("")`},
		"quote inside":      {`0,schedule,a,1s,o"h`, `a quote (") inside a field that is not quoted; quote the field, and write the quote twice`},
	} {
		t.Run(name, func(t *testing.T) {
			s := read(t, "at,op,id,delay,message\n10ms,schedule,x,1s,\n"+c.row+"\n10ms,reset,x,2s,\n")
			assert.Equal(t, []string{"3: " + c.want}, problems(s))
			require.Len(t, s.Rows, 2)
			assert.Equal(t, 2, s.Rows[0].Line)
			assert.Equal(t, 4, s.Rows[1].Line)
		})
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestIDsAreCheckedInOrderOfTimeAndLine(t *testing.T) {
	for name, c := range map[string]struct {
		rows string
		want []string
	}{
		"cancel above, later":      {"2s,cancel,a,\n1s,schedule,a,9s\n", nil},
		"cancel below, same time":  {"1s,schedule,a,9s\n1s,cancel,a,\n", nil},
		"cancel above, same time":  {"1s,cancel,a,\n1s,schedule,a,9s\n", []string{`2: unknown id "a" at 1s: line 3 schedules it only afterwards, at 1s`}},
		"cancel below, earlier":    {"2s,schedule,a,9s\n1s,cancel,a,\n", []string{`3: unknown id "a" at 1s: line 2 schedules it only afterwards, at 2s`}},
		"first in the file counts": {"2s,schedule,a,9s\n1s,schedule,a,9s\n", []string{`3: duplicate id "a": line 2 schedules it already`}},
		"bad schedule, so unknown": {"0,schedule,a,\n1s,cancel,a,\n", []string{"2: no delay: schedule needs one, such as 1m30s", `3: unknown id "a": no good row schedules it`}},
		"no id is reused":          {"0,schedule,a,1s\n1s,cancel,a,\n2s,schedule,a,1s\n", []string{`4: duplicate id "a": line 2 schedules it already`}},
		"cancelled twice":          {"0,schedule,a,1s\n1s,cancel,a,\n2s,cancel,a,\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, problems(read(t, "at,op,id,delay\n"+c.rows)))
		})
	}
}

func TestFilesThatAreNotSchedulesAreErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "no header: the first line must name the columns, such as at,op,id,delay,message",
		"\n# nothing\n":           "no header: the first line must name the columns, such as at,op,id,delay,message",
		"id,delya\n":              `line 1: unknown column "delya" in the header: the columns are at, op, id, delay and message`,
		"\nid;delay\n":            `line 2: unknown column "id;delay" in the header: the columns are at, op, id, delay and message`,
		"id,delay,id\n":           "line 1: column id is in the header twice",
		"at,delay\n":              "line 1: no column id in the header: of at, op, id, delay and message, id and delay are required",
		"id,op\n":                 "line 1: no column delay in the header: of at, op, id, delay and message, id and delay are required",
		"\xff\xfei\x00d\x00":      "line 1: not UTF-8 text",
		"id,\"delay\n":            "line 1: a quoted field is not closed on its line, or text follows its closing quote; " + `write a quote inside it twice ("")`,
		long(70_000) + "\na,1s\n": "line 1: the line is longer than 65,536 bytes, which is the limit",
	} {
		_, err := schedule.Read(strings.NewReader(text), schedule.DefaultLimits)
		assert.EqualError(t, err, want, "%.20q", text)
	}
}

func TestLongLinesAreBadRowsAndSkipped(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		for over := -1; over < 10; over++ {
			first := "a,1s,"
			first += long(100 - len(first) + over)
			text := "\ufeffid,delay,message" + end + first + end + "b,1s," + long(5000) + end + "c,1s,"
			s, err := schedule.Read(strings.NewReader(text), schedule.Limits{LineBytes: 100, Rows: 10, Bytes: 10_000})
			require.NoError(t, err)
			want := []string{"3: the line is longer than 100 bytes, which is the limit"}
			if over > 0 {
				want = append([]string{"2: the line is longer than 100 bytes, which is the limit"}, want...)
			}
			assert.Equal(t, want, problems(s), "over by %d", over)
		}
	}
}

func TestMoreRowsThanTheLimitAreRejected(t *testing.T) {
	limits := schedule.Limits{LineBytes: 100, Rows: 2, Bytes: 100}
	_, err := schedule.Read(strings.NewReader("id,delay\na,1s\n\nb,bad\n"), limits)
	require.NoError(t, err)
	_, err = schedule.Read(strings.NewReader("id,delay\na,1s\n\nb,bad\nc,1s\n"), limits)
	assert.EqualError(t, err, "line 5: more than 2 rows, which is the limit")
}

func TestLargerInputThanTheLimitIsRejected(t *testing.T) {
	const text = "id,delay\na,1s\n\n# skipped\nb,1s"
	limits := schedule.Limits{LineBytes: 100, Rows: 100, Bytes: int64(len(text))}
	s, err := schedule.Read(strings.NewReader(text), limits)
	require.NoError(t, err)
	assert.Len(t, s.Rows, 2)
	for _, more := range []string{"0", "\n", long(200)} {
		_, err = schedule.Read(strings.NewReader(text+more), limits)
		assert.EqualError(t, err, "more than 29 bytes, which is the limit", "%q", more)
	}
}

func TestLineWithoutEndIsRejectedAtTheLimit(t *testing.T) {
	header := strings.NewReader("id,delay\n")
	_, err := schedule.Read(io.MultiReader(header, zeros{}), schedule.Limits{LineBytes: 100, Rows: 100, Bytes: 1 << 20})
	assert.EqualError(t, err, "more than 1,048,576 bytes, which is the limit")
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestFailingReadsAreReported(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("id,delay\na,1s\n"), iotest.ErrReader(errors.New("disk failed")))
	_, err := schedule.Read(broken, schedule.DefaultLimits)
	assert.EqualError(t, err, "disk failed")
}

// testdata holds the example schedules.
const testdata = "../../testdata"

func TestExampleScheduleIsFaultless(t *testing.T) {
	f, err := os.Open(filepath.Join(testdata, "shop-day.csv"))
	require.NoError(t, err)
	defer f.Close()
	s, err := schedule.Read(f, schedule.DefaultLimits)
	require.NoError(t, err)
	assert.Empty(t, problems(s))
	assert.GreaterOrEqual(t, len(s.Rows), 300)
}
