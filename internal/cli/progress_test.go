package cli_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt/internal/cli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFollowWritesALinePerInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		stop := cli.Follow(&out, 2*time.Second, func() string { return "half way" })
		time.Sleep(5 * time.Second)
		stop()
		assert.Equal(t, "  2s  half way\n  4s  half way\n", out.String())
	})
}
