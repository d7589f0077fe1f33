package mpsc_test

import (
	"fmt"
	"sync/atomic"

	"github.com/hashedwheel/hwt/mpsc"
)

type letter struct {
	next mpsc.Link[letter]
	text string
}

// mailbox adds to the queue a consumer that sleeps while there is nothing.
type mailbox struct {
	letters mpsc.Queue[letter]
	asleep  atomic.Bool   // published by the consumer; whoever takes it back owes a token, or saves one
	wake    chan struct{} // room for one token
}

func newMailbox() *mailbox {
	m := &mailbox{wake: make(chan struct{}, 1)}
	m.letters.Init(func(l *letter) *mpsc.Link[letter] { return &l.next })
	return m
}

// send costs a push and a load while the consumer is awake.
func (m *mailbox) send(l *letter) bool {
	sent := m.letters.Push(l)
	m.wakeConsumer()
	return sent
}

func (m *mailbox) close() {
	m.letters.Close()
	m.wakeConsumer()
}

// wakeConsumer comes after the push, or the close, that the consumer has to see.
func (m *mailbox) wakeConsumer() {
	if m.asleep.Load() && m.asleep.CompareAndSwap(true, false) {
		m.wake <- struct{}{} // never blocks: one sleep, one token
	}
}

// receive waits for a letter. It returns nil once the mailbox is closed and all
// that was sent before has been received.
func (m *mailbox) receive() *letter {
	for {
		closed := m.letters.Closed() // before the Pop: then nil is the end
		if l := m.letters.Pop(); l != nil || closed {
			return l
		}
		// Say that we sleep, and only then look once more. A sender does it the
		// other way round, pushes and then looks whether we sleep: so either we
		// see its letter or it sees us asleep.
		m.asleep.Store(true)
		sleep := m.letters.Empty() && !m.letters.Closed()
		if sleep || !m.asleep.CompareAndSwap(true, false) {
			<-m.wake
		}
	}
}

// A consumer that parks when the queue is empty, and never misses a push.
func Example_parking() {
	m := newMailbox()
	go func() {
		for _, text := range []string{"the wheel turns", "the hand moves", "the bell rings"} {
			m.send(&letter{text: text})
		}
		m.close()
	}()
	for l := m.receive(); l != nil; l = m.receive() {
		fmt.Println(l.text)
	}
	fmt.Println("sent when closed:", m.send(&letter{text: "too late"}))
	// Output:
	// the wheel turns
	// the hand moves
	// the bell rings
	// sent when closed: false
}
