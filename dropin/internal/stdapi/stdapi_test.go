package stdapi_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/dropin/internal/stdapi"
)

// TestMissingNamesAreListed compares with a package that lacks most names of package
// context and has some with wrong types.
func TestMissingNamesAreListed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "context.go"), []byte(`package context

type Context interface{}
type CancelFunc = func()
var Canceled error
func Background() Context { return nil }
func TODO() any { return nil }
func WithValue(c Context, k, v any) Context { return nil }
`), 0o600))
	missing, err := stdapi.Missing("context", dir)
	require.NoError(t, err)
	assert.Subset(t, missing, []string{"CancelCauseFunc", "DeadlineExceeded", "TODO() (Context)", "Cause(Context) (error)"})
	for _, there := range []string{"Context", "CancelFunc", "Canceled", "Background() (Context)", "WithValue(Context, any, any) (Context)"} {
		assert.NotContains(t, missing, there)
	}
}

func TestMethodsOfATypeDeclaredAnewCount(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "time.go"), []byte(`package time

type Timer struct{}
func (t *Timer) Stop() bool { return false }
`), 0o600))
	missing, err := stdapi.Missing("time", dir)
	require.NoError(t, err)
	assert.Contains(t, missing, "Timer.Reset(Duration) (bool)")
	assert.NotContains(t, missing, "Timer.Stop() (bool)")
	assert.NotContains(t, missing, "Ticker.Stop() ()", "Ticker itself is missing")
}

func TestUnknownPackageIsAnError(t *testing.T) {
	_, err := stdapi.Missing("no/such", ".")
	assert.Error(t, err)
	_, err = stdapi.Missing("time", t.TempDir())
	assert.Error(t, err)
}
