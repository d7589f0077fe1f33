package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"

	"github.com/hashedwheel/hwt/idle"
)

var (
	mqttSingle  = broker("mqtt", "An MQTT broker, one message per write", 1)
	mqttBatches = broker("mqtt-batches", "An MQTT broker, 32 messages per write", 32)
)

// broker is a load of mochi-mqtt. Its clients send batch messages in each write.
func broker(name, title string, batch int) program {
	// The keep-alive of 60 s makes the broker set a deadline 90 s ahead for each packet.
	const keepAlive, silence = time.Minute, 90 * time.Second
	deadlines := func(step time.Duration) func(net.Listener) net.Listener {
		return func(l net.Listener) net.Listener { return &deadlineListener{l, step} }
	}
	return program{
		name: name, title: title, unit: "message",
		text: "19,000 clients of mochi-mqtt together publish 19,000 messages of 64 bytes per second, without subscribers. " +
			"The broker closes a client after 90 seconds of silence. By default it calls SetDeadline for each packet.",
		remark: "A broker can save most calls of SetDeadline without `idle`: the third line refreshes the deadline only after " +
			"a quarter of the keep-alive. It then closes a silent client up to 15 seconds early.",
		sides: []side{
			{"no limit", brokerSide(batch, deadlines(-1)), true},
			{"SetDeadline per packet", brokerSide(batch, deadlines(0)), false},
			{"SetDeadline every 15 s", brokerSide(batch, deadlines(keepAlive/4)), false},
			{"`idle`", brokerSide(batch, func(l net.Listener) net.Listener {
				reaper, err := idle.New(newTimer(time.Second), silence, &idle.Options{Activity: idle.ActivityRead})
				must(err)
				return &deadlineListener{reaper.Listener(l), -1}
			}), false},
		},
	}
}

// deadlineListener accepts connections that set a deadline at most once per step,
// or never if step is negative.
type deadlineListener struct {
	net.Listener
	step time.Duration
}

func (l *deadlineListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil || l.step == 0 {
		return c, err
	}
	return &deadlineConn{Conn: c, step: l.step}, nil
}

type deadlineConn struct {
	net.Conn
	step time.Duration
	last time.Time // the last deadline; the broker sets it from one goroutine per connection
}

func (c *deadlineConn) SetDeadline(t time.Time) error {
	if c.step < 0 || t.Sub(c.last) < c.step {
		return nil
	}
	c.last = t
	return c.Conn.SetDeadline(t)
}

func brokerSide(batch int, wrap func(net.Listener) net.Listener) func(scale int) sample {
	return func(scale int) (s sample) {
		n := int64(19_000 / scale) // below the usual limit of 20,000 files
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		capabilities := mqtt.NewDefaultServerCapabilities()
		capabilities.MaximumClientWritesPending = 16 // the default takes 64 KiB per client
		server := mqtt.New(&mqtt.Options{Logger: slog.New(slog.DiscardHandler), Capabilities: capabilities})
		must(server.AddHook(new(auth.AllowHook), nil))
		must(server.AddListener(listeners.NewNet("tcp", wrap(l))))
		must(server.Serve())
		defer server.Close()
		base := heapMB()
		kill := startClients(int(n), l.Addr().String(), batch)
		defer kill()
		for atomic.LoadInt64(&server.Info.MessagesReceived) < n {
			time.Sleep(10 * time.Millisecond)
		}
		s.HeapMB = heapMB() - base
		first := atomic.LoadInt64(&server.Info.MessagesReceived)
		total := cpuOf(1, func() { time.Sleep(2 * span) })
		s.CPU = total / float64(atomic.LoadInt64(&server.Info.MessagesReceived)-first)
		return s
	}
}

// mqttClients opens n MQTT connections to address and returns a write of batch messages.
func mqttClients(n int, address string, batch int) (conns []net.Conn, write []byte) {
	for i := range n {
		c, err := net.Dial("tcp", address)
		must(err)
		_, err = c.Write(connectPacket(fmt.Sprintf("client%d", i)))
		must(err)
		_, err = io.ReadFull(c, make([]byte, 4)) // CONNACK
		must(err)
		conns = append(conns, c)
	}
	publish := append([]byte{0x30, 67, 0, 1, 't'}, make([]byte, 64)...)
	return conns, bytes.Repeat(publish, batch)
}

// connectPacket is a CONNECT of MQTT 3.1.1 with a clean session and a keep-alive of 60 s.
func connectPacket(id string) []byte {
	rest := append([]byte{0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60}, binary.BigEndian.AppendUint16(nil, uint16(len(id)))...)
	rest = append(rest, id...)
	return append([]byte{0x10, byte(len(rest))}, rest...)
}
