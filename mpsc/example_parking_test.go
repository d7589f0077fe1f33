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

// mailbox is a queue whose consumer sleeps while it is empty.
type mailbox struct {
	letters mpsc.Queue[letter]
	asleep  atomic.Bool   // set by the consumer; a sender that clears it sends a token
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

// wakeConsumer must follow each push and the close.
func (m *mailbox) wakeConsumer() {
	if m.asleep.Load() && m.asleep.CompareAndSwap(true, false) {
		m.wake <- struct{}{} // never blocks: one token per sleep
	}
}

// receive waits for a letter. It returns nil when the mailbox is closed and all letters
// have been received.
func (m *mailbox) receive() *letter {
	for {
		closed := m.letters.Closed() // before the Pop, so that nil means the end
		if l := m.letters.Pop(); l != nil || closed {
			return l
		}
		// Set asleep, then check the queue again. A sender first pushes, then checks
		// asleep. Either the consumer sees the letter or the sender sees asleep.
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
