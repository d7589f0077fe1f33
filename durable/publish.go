package durable

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Ground rules
//
//	P1. Every send calls its function once: with the server's answer, or with
//	    errUnavailable after the timeout, or with ErrClosed. The goroutine that
//	    removes the entry from waiting calls it.
//	P2. The functions run on the goroutines of the subscription, of expire, of
//	    transmit, or of the sender. They do not block.
//	P3. Sending does not block: the wheel and the handlers do not wait for a server
//	    that does not read. What is queued is bounded by the leases and the
//	    operations under way.

// publisher sends messages and matches the server's answers to them, very many
// at a time on one subscription. It does what jetstream.PublishAsync does, with a
// timeout for each message, a function for each answer, and acknowledgements of
// consumers as well.
type publisher struct {
	conn    *nats.Conn
	inbox   string
	timeout time.Duration
	sub     *nats.Subscription
	wake    chan struct{}  // Has an element if outgoing is not empty.
	done    chan struct{}  // Closed by close.
	ended   sync.WaitGroup // expire and transmit

	mu       sync.Mutex
	next     uint64           // Guarded by mu.
	waiting  map[uint64]reply // Guarded by mu.
	expiry   []expiring       // In the order of at. Guarded by mu.
	outgoing []outgoing       // Guarded by mu.
	closed   bool             // Guarded by mu.
}

// outgoing is a message for transmit, and its number, or 0 if it has no answer.
type outgoing struct {
	msg    *nats.Msg
	number uint64
}

type expiring struct {
	number uint64
	at     time.Time
}

// reply is what is called with the server's answer. The error is errUnavailable,
// ErrClosed, or nil.
type reply func(*nats.Msg, error)

func newPublisher(conn *nats.Conn, timeout time.Duration) (*publisher, error) {
	p := &publisher{
		conn:    conn,
		inbox:   conn.NewInbox() + ".",
		timeout: timeout,
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
		waiting: make(map[uint64]reply),
	}
	sub, err := conn.Subscribe(p.inbox+"*", p.receive)
	if err != nil {
		return nil, fmt.Errorf("durable: subscribing to answers: %w", err)
	}
	// A burst of answers is bounded by what was sent.
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, fmt.Errorf("durable: subscribing to answers: %w", err)
	}
	p.sub = sub
	p.ended.Go(p.expire)
	p.ended.Go(p.transmit)
	return p, nil
}

// send sends msg, directly behind those that have to come before it, and calls
// then with the answer to msg.
func (p *publisher) send(msg *nats.Msg, then reply, before ...*nats.Msg) {
	if !p.enqueue(msg, then, before) {
		then(nil, ErrClosed)
		return
	}
	p.kick()
}

func (p *publisher) enqueue(msg *nats.Msg, then reply, before []*nats.Msg) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	for _, m := range before {
		p.outgoing = append(p.outgoing, outgoing{m, 0})
	}
	p.next++
	p.waiting[p.next] = then
	p.expiry = append(p.expiry, expiring{p.next, time.Now().Add(p.timeout)})
	// A copy: the caller may send msg again while this one is still queued.
	out := &nats.Msg{Subject: msg.Subject, Header: msg.Header, Data: msg.Data}
	out.Reply = p.inbox + strconv.FormatUint(p.next, 36)
	p.outgoing = append(p.outgoing, outgoing{out, p.next})
	return true
}

// post sends a message that has no answer. After close, it does nothing.
func (p *publisher) post(msg *nats.Msg) {
	p.mu.Lock()
	if !p.closed {
		p.outgoing = append(p.outgoing, outgoing{msg, 0})
	}
	p.mu.Unlock()
	p.kick()
}

// kick wakes transmit.
func (p *publisher) kick() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// transmit hands the messages to the connection until close, and then the rest.
func (p *publisher) transmit() {
	for {
		select {
		case <-p.wake:
			p.transmitAll()
		case <-p.done:
			p.transmitAll()
			return
		}
	}
}

func (p *publisher) transmitAll() {
	var batch []outgoing
	for {
		p.mu.Lock()
		batch, p.outgoing = p.outgoing, batch[:0]
		p.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, o := range batch {
			if err := p.conn.PublishMsg(o.msg); err != nil {
				p.finish(o.number, nil, fmt.Errorf("%w: %w", errUnavailable, err))
			}
		}
		clear(batch)
	}
}

// request sends msg and waits for the answer or the end of ctx.
// It sends nothing if ctx has ended.
func (p *publisher) request(ctx context.Context, msg *nats.Msg) (*nats.Msg, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	type result struct {
		msg *nats.Msg
		err error
	}
	got := make(chan result, 1)
	p.send(msg, func(msg *nats.Msg, err error) { got <- result{msg, err} })
	select {
	case r := <-got:
		return r.msg, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// write stores msg and returns its sequence.
func (p *publisher) write(ctx context.Context, msg *nats.Msg) (uint64, error) {
	return stored(p.request(ctx, msg))
}

func (p *publisher) receive(msg *nats.Msg) {
	number, err := strconv.ParseUint(msg.Subject[len(p.inbox):], 36, 64)
	if err != nil {
		return
	}
	if msg.Header.Get("Status") == noResponders {
		p.finish(number, nil, errUnavailable)
		return
	}
	p.finish(number, msg, nil)
}

// finish calls the function of a message, unless that has happened.
func (p *publisher) finish(number uint64, msg *nats.Msg, err error) {
	p.mu.Lock()
	then := p.waiting[number]
	delete(p.waiting, number)
	p.mu.Unlock()
	if then != nil {
		then(msg, err)
	}
}

// expire ends the wait for answers that do not come: because they are late, or
// because the connection that they were to come on is gone.
func (p *publisher) expire() {
	lost := p.conn.StatusChanged(nats.RECONNECTING)
	defer p.conn.RemoveStatusListener(lost)
	tick := time.NewTicker(p.timeout / 8)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return
		case now := <-tick.C:
			for _, then := range p.expired(now) {
				then(nil, errUnavailable)
			}
		case <-lost:
			for _, then := range p.expired(time.Now().Add(p.timeout)) {
				then(nil, errUnavailable)
			}
		}
	}
}

func (p *publisher) expired(now time.Time) (late []reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := 0
	for ; i < len(p.expiry) && p.expiry[i].at.Before(now); i++ {
		if then := p.waiting[p.expiry[i].number]; then != nil {
			delete(p.waiting, p.expiry[i].number)
			late = append(late, then)
		}
	}
	p.expiry = append(p.expiry[:0], p.expiry[i:]...)
	return late
}

// close ends all waits.
func (p *publisher) close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	waiting := p.waiting
	p.waiting = nil
	p.mu.Unlock()
	close(p.done)
	p.ended.Wait()
	p.sub.Unsubscribe() // fails only if the connection is closed
	for _, then := range waiting {
		then(nil, ErrClosed)
	}
}

// Codes of JetStream's errors.
const (
	codeInsufficientResources = 10023
	codeAccountResources      = 10002
	codeStorageExceeded       = 10047
	codeStoreFailed           = 10077
	codeWrongSequence         = 10071
	codeWrongSequenceInFlight = 10164
	codeBatchesInFlight       = 10210
	codeBatchIncomplete       = 10176 // a part of it was lost with a connection
	codeNotLeader             = 10009
	codeNotAvailable          = 10008
	codeStreamOffline         = 10118
	codeConsumerOffline       = 10119
	codeNoMessage             = 10037
)

// serverError is an error as JetStream answers it.
type serverError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *serverError) Error() string {
	return fmt.Sprintf("the server refused: %s (%d)", e.Description, e.ErrCode)
}

// Is lets errors.Is find what the operations act upon.
func (e *serverError) Is(target error) bool {
	switch e.ErrCode {
	case codeWrongSequence, codeWrongSequenceInFlight:
		return target == errWrongSequence
	case codeInsufficientResources, codeAccountResources, codeStorageExceeded, codeStoreFailed:
		return target == errNoSpace
	case codeNotLeader, codeNotAvailable, codeBatchesInFlight, codeBatchIncomplete:
		return target == errUnavailable
	}
	return false
}

const noResponders = "503"

// stored returns the sequence in the answer to a message that was to be stored,
// or the error. An acknowledgement's answer is empty, and has none.
func stored(msg *nats.Msg, err error) (uint64, error) {
	if err != nil || len(bytes.TrimSpace(msg.Data)) == 0 {
		return 0, err
	}
	var body struct {
		Seq   uint64       `json:"seq"`
		Error *serverError `json:"error"`
	}
	if err := json.Unmarshal(msg.Data, &body); err != nil {
		return 0, fmt.Errorf("an answer that is not JSON: %q: %w", msg.Data, err)
	}
	if body.Error != nil {
		return 0, body.Error
	}
	return body.Seq, nil
}
