package idlehttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hashedwheel/hwt/idle"
)

func TestSilentHandlerKeepsItsConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, http2 bool) {
		s := serve(t, http2, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Hour)
			io.WriteString(w, "done")
		})
		assert.Equal(t, "done", get(t, s.Client, "http://server/"))
		time.Sleep(timeout - time.Millisecond)
		assert.EqualValues(t, 1, s.Stats().Watched, "the whole timeout follows")
		time.Sleep(tick + time.Millisecond)
		assert.EqualValues(t, 1, s.Stats().Idle)
	})
}

func TestShortRequestDoesNotEndALongOne(t *testing.T) {
	inBubble(t, func(t *testing.T, http2 bool) {
		s := serve(t, http2, func(w http.ResponseWriter, q *http.Request) {
			if q.URL.Path == "/long" {
				w.(http.Flusher).Flush()
				time.Sleep(time.Minute)
			}
			io.WriteString(w, "done")
		})
		long := make(chan string)
		go func() { long <- get(t, s.Client, "http://server/long") }()
		time.Sleep(time.Second)
		assert.Equal(t, "done", get(t, s.Client, "http://server/short"))
		assert.Equal(t, "done", <-long)
	})
}

// TestStreamWithLongPauses writes a line per minute.
func TestStreamWithLongPauses(t *testing.T) {
	inBubble(t, func(t *testing.T, http2 bool) {
		s := serve(t, http2, func(w http.ResponseWriter, _ *http.Request) {
			for i := range 10 {
				fmt.Fprintln(w, i)
				w.(http.Flusher).Flush()
				time.Sleep(time.Minute)
			}
		})
		assert.Equal(t, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", get(t, s.Client, "http://server/"))
	})
}

// TestStreamBothWaysWithLongPauses echoes a line per minute.
func TestStreamBothWaysWithLongPauses(t *testing.T) {
	inBubble(t, func(t *testing.T, http2 bool) {
		s := serve(t, http2, func(w http.ResponseWriter, q *http.Request) {
			http.NewResponseController(w).EnableFullDuplex() // HTTP/2 always is
			for lines := bufio.NewScanner(q.Body); lines.Scan(); {
				fmt.Fprintln(w, lines.Text())
				w.(http.Flusher).Flush()
			}
		})
		body, lines := io.Pipe()
		go func() {
			for range 3 {
				io.WriteString(lines, "line\n")
				time.Sleep(time.Minute)
			}
			lines.Close()
		}()
		r, err := s.Post("http://server/", "text/plain", body)
		require.NoError(t, err)
		defer r.Body.Close()
		got, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Equal(t, strings.Repeat("line\n", 3), string(got))
	})
}

// TestHTTP2ClientThatDoesNotReadIsClosed answers without end. The client keeps reading
// frames, but not the body: no write to the connection is in progress while flow
// control blocks the handler.
func TestHTTP2ClientThatDoesNotReadIsClosed(t *testing.T) {
	for name, write := range map[string]func(http.ResponseWriter) error{
		"Write": func(w http.ResponseWriter) error {
			_, err := w.Write(make([]byte, 1<<20))
			return err
		},
		"WriteString": func(w http.ResponseWriter) error {
			_, err := io.WriteString(w, strings.Repeat("x", 1<<20))
			return err
		},
		"Flush": func(w http.ResponseWriter) error {
			_, err := w.Write(make([]byte, 1<<10)) // fits into the server's buffer
			w.(http.Flusher).Flush()
			return err
		},
		"FlushError": func(w http.ResponseWriter) error {
			w.Write(make([]byte, 1<<10))
			return http.NewResponseController(w).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, http2 bool) {
				if !http2 {
					t.Skip("see TestClientThatDoesNotReadIsClosed")
				}
				closed := make(chan time.Duration, 1)
				s := serve(t, http2, func(w http.ResponseWriter, _ *http.Request) {
					time.Sleep(time.Hour)
					start := time.Now()
					for write(w) == nil {
					}
					closed <- time.Since(start)
				})
				r, err := s.Get("http://server/")
				require.NoError(t, err)
				defer r.Body.Close()
				defer time.AfterFunc(time.Hour, func() { r.Body.Close() }).Stop() // if the reaper does not
				blocked := <-closed
				assert.GreaterOrEqual(t, blocked, timeout)
				assert.LessOrEqual(t, blocked, timeout+tick)
			})
		})
	}
}

func TestHTTP2WriterKeepsItsMethods(t *testing.T) {
	inBubble(t, func(t *testing.T, http2 bool) {
		if !http2 {
			t.Skip("the writer is the server's own")
		}
		s := serve(t, http2, func(w http.ResponseWriter, _ *http.Request) {
			_, notifies := w.(interface{ CloseNotify() <-chan bool })
			assert.True(t, notifies)
			assert.Implements(t, (*http.Pusher)(nil), w)
			controller := http.NewResponseController(w)
			assert.NoError(t, controller.SetWriteDeadline(time.Now().Add(time.Minute)))
			assert.NoError(t, controller.EnableFullDuplex())
		})
		get(t, s.Client, "http://server/")
	})
}

func TestPanickingHandlerReleasesItsHold(t *testing.T) {
	inBubble(t, func(t *testing.T, http2 bool) {
		s := serve(t, http2, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		_, err := s.Get("http://server/")
		assert.Error(t, err)
		time.Sleep(timeout + tick)
		assert.Zero(t, s.Stats().Watched)
	})
}

// TestHijackEndsTheHold speaks another protocol on the connection. The handler runs
// to its end, but does not hold the connection.
func TestHijackEndsTheHold(t *testing.T) {
	inBubble(t, func(t *testing.T, http2 bool) {
		if http2 {
			t.Skip("HTTP/2 connections cannot be hijacked")
		}
		ended := make(chan error, 1)
		s := serve(t, http2, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Minute)
			c, _, err := w.(http.Hijacker).Hijack()
			require.NoError(t, err)
			defer c.Close()
			_, err = io.Copy(c, c)
			ended <- err
		})
		c, err := s.listener.Dial(t.Context(), "", "")
		require.NoError(t, err)
		defer c.Close()
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: server\r\n\r\n")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		defer time.AfterFunc(time.Hour, func() { c.Close() }).Stop() // if it is not closed
		for range 10 {
			time.Sleep(timeout - time.Second)
			_, err = c.Write([]byte("x"))
			require.NoError(t, err)
			_, err = c.Read(make([]byte, 1))
			require.NoError(t, err)
		}
		silent := time.Now()
		assert.ErrorIs(t, <-ended, idle.ErrIdle)
		assert.GreaterOrEqual(t, time.Since(silent), timeout)
		assert.LessOrEqual(t, time.Since(silent), timeout+tick)
	})
}

func TestFunctionsOfTheServerAreCalled(t *testing.T) {
	type key struct{}
	inBubble(t, func(t *testing.T, http2 bool) {
		closed := make(chan struct{})
		s := serve(t, http2, func(w http.ResponseWriter, q *http.Request) {
			time.Sleep(time.Minute)
			io.WriteString(w, q.Context().Value(key{}).(string))
		}, func(server *http.Server) {
			server.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
				return context.WithValue(ctx, key{}, "from ConnContext")
			}
			server.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateClosed {
					close(closed)
				}
			}
		})
		assert.Equal(t, "from ConnContext", get(t, s.Client, "http://server/"))
		<-closed
	})
}
