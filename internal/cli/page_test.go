package cli_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hashedwheel/hwt/internal/cli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPageIsServedOnThisMachineUntilStop(t *testing.T) {
	listener, err := cli.Listen(":0")
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(listener.Addr().String(), "127.0.0.1:"), listener.Addr())
	var out bytes.Buffer
	stop := cli.ServePage(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "the page")
	}), &out)
	root := "http://" + listener.Addr().String()
	assert.Equal(t, "Watch it at "+root+"/debug/hwt/\n", out.String())
	response, err := http.Get(root)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, "the page", string(body), "by way of the redirection")
	stop()
	http.DefaultClient.CloseIdleConnections()
	_, err = http.Get(root)
	assert.Error(t, err)
}

func TestListenRejectsBadAddresses(t *testing.T) {
	for _, address := range []string{"", "8080", "127.0.0.1:99999"} {
		_, err := cli.Listen(address)
		assert.Error(t, err, address)
	}
}
