package echo_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/echo"
	"github.com/hashedwheel/hwt/internal/enginetest"
)

const allowed = 10 * time.Second

// answer echoes n messages, and reads one more without an answer.
func answer(c net.Conn, n int) {
	defer c.Close()
	p := make([]byte, 100)
	for range n {
		m, _ := c.Read(p)
		c.Write(p[:m])
	}
	c.Read(p)
}

func TestEarlyCloseIsDetected(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		near, far := net.Pipe()
		go answer(far, 3)
		ended, echoed := echo.Talk(near, allowed, time.Now())
		assert.Equal(t, echo.ClosedEarly, ended)
		assert.EqualValues(t, 3, echoed)
	})
}

// The message is sent after the idle timeout, and the server does not read it.
func TestLateMessageIsNotTheServersFault(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		near, far := net.Pipe()
		go answer(far, 0)
		ended, echoed := echo.Talk(near, allowed, time.Now().Add(-allowed))
		assert.Equal(t, echo.ClosedByServer, ended)
		assert.Zero(t, echoed)
	})
}

func TestClientEndsWithItsConnection(t *testing.T) {
	enginetest.Bubble(t, func(t *testing.T) {
		near, far := net.Pipe()
		go io.Copy(far, far)
		time.AfterFunc(time.Minute, func() { far.Close() })
		_, echoed := echo.Talk(near, allowed, time.Now())
		assert.GreaterOrEqual(t, echoed, int64(60/5-1))
		assert.LessOrEqual(t, echoed, int64(60/2.5))
	})
}
