package leak_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/leak"
)

const (
	envLevel    = "HWT_LEAK_DETECTION_LEVEL"
	envTarget   = "HWT_LEAK_DETECTION_TARGET_RECORDS"
	envInterval = "HWT_LEAK_DETECTION_SAMPLING_INTERVAL"
)

// settingsOf returns the settings in env as text, and the log.
func settingsOf(env map[string]string) (values, log string) {
	var b bytes.Buffer
	s := leak.ReadSettings(func(name string) string { return env[name] })
	s.Warn(slog.New(slog.NewTextHandler(&b, nil)))
	level, target, interval := s.Values()
	return fmt.Sprint(level, " ", target, " ", interval), b.String()
}

func TestEnvironmentOverridesTheDefaults(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{envLevel, "", "simple 4 128"},
		{envLevel, "Paranoid", "paranoid 4 128"},
		{envLevel, "0", "disabled 4 128"},
		{envTarget, "1", "simple 1 128"},
		{envTarget, " 1024 ", "simple 1024 128"},
		{envInterval, "1", "simple 4 1"},
		{envInterval, "1073741824", "simple 4 1073741824"},
	} {
		values, log := settingsOf(map[string]string{c.name: c.value})
		assert.Equal(t, c.want, values, "%s=%s", c.name, c.value)
		assert.Empty(t, log)
	}
}

func TestInvalidVariableIsReportedAndIgnored(t *testing.T) {
	for _, c := range []struct{ name, value, allowed string }{
		{envLevel, "chatty", "disabled, simple, advanced, paranoid, or 0 to 3"},
		{envLevel, "4", "disabled, simple, advanced, paranoid, or 0 to 3"},
		{envTarget, "0", "1 to 1024"},
		{envTarget, "1025", "1 to 1024"},
		{envTarget, "few", "1 to 1024"},
		{envInterval, "-1", "1 to 1073741824"},
		{envInterval, "1073741825", "1 to 1073741824"},
		{envInterval, "99999999999999999999", "1 to 1073741824"},
		{envInterval, "1e3", "1 to 1073741824"},
	} {
		values, log := settingsOf(map[string]string{c.name: c.value})
		assert.Equal(t, "simple 4 128", values, "%s=%s", c.name, c.value)
		assert.Contains(t, log, "level=WARN")
		assert.Contains(t, log, "variable="+c.name)
		assert.Contains(t, log, "value="+c.value)
		assert.Contains(t, log, c.allowed)
		assert.Equal(t, 1, strings.Count(log, "\n"), "one line")
	}
}

// TestProcessReadsItsEnvironmentOnce runs this test binary again, because the
// environment matters only until it is first read.
func TestProcessReadsItsEnvironmentOnce(t *testing.T) {
	if os.Getenv("LEAK_TEST_CHILD") != "" {
		fmt.Println("before:", leak.SetLevel(leak.LevelAdvanced), "after:", leak.CurrentLevel())
		d := leak.NewDetector[resource]("test.Resource", nil)
		for range 10 { // the environment sets an interval of 1
			r := &resource{}
			r.tracker = d.Track(r)
			fmt.Print("tracked:", r.tracker != nil, " ")
			r.close()
		}
		return
	}
	out := runAgain(t, envLevel+"=disabled", envInterval+"=1", envTarget+"=none")
	assert.Contains(t, out, "before: disabled after: advanced")
	assert.Equal(t, 10, strings.Count(out, "tracked:true"), out)
	assert.Equal(t, 1, strings.Count(out, "invalid environment variable"), out)
	assert.Contains(t, out, envTarget)
}

// handlerFunc is a log handler.
type handlerFunc func() error

func (h handlerFunc) Enabled(context.Context, slog.Level) bool  { return true }
func (h handlerFunc) Handle(context.Context, slog.Record) error { return h() }
func (h handlerFunc) WithAttrs([]slog.Attr) slog.Handler        { return h }
func (h handlerFunc) WithGroup(string) slog.Handler             { return h }

// TestLogHandlerMayTrackAndPanic runs again with an invalid variable, because the handler is
// called for it in the first use of the package.
func TestLogHandlerMayTrackAndPanic(t *testing.T) {
	if os.Getenv("LEAK_TEST_CHILD") == "" {
		out := runAgain(t, envInterval+"=none")
		assert.Contains(t, out, "tracked:true records:1")
		return
	}
	d := leak.NewDetector[resource]("test.Resource", &leak.Options{SamplingInterval: 1})
	records := 0
	slog.SetDefault(slog.New(handlerFunc(func() error {
		records++
		d.Track(new(resource)).Close()
		panic("broken handler")
	})))
	r := &resource{}
	r.tracker = d.Track(r)
	fmt.Printf("tracked:%v records:%d\n", r.tracker != nil, records)
	r.close()
}

// runAgain runs the calling test with env in another process.
func runAgain(t *testing.T, env ...string) string {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), append(env, "LEAK_TEST_CHILD=1")...)
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}
