package durable

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// Headers of our own; WIRE.md describes them.
const (
	headerDue     = "Hwt-Due"     // nanoseconds since 1970
	headerFirst   = "Hwt-First"   // the generation that the ID is made of, if not the own
	headerAttempt = "Hwt-Attempt" // if not 1
	headerEvery   = "Hwt-Every"   // how a recurring timer repeats
	headerFate    = "Hwt-Fate"    // claimed, cancelled or moved
	headerBy      = "Hwt-By"      // the operation that wrote the fate
	headerError   = "Hwt-Error"   // the last attempt's, on a dead letter
	headerDead    = "Hwt-Dead"    // when it was given up, nanoseconds since 1970
)

// Headers of JetStream.
const (
	headerExpectSeq     = "Nats-Expected-Last-Subject-Sequence"
	headerExpectSubject = "Nats-Expected-Last-Subject-Sequence-Subject"
	headerSchedule      = "Nats-Schedule"
	headerTarget        = "Nats-Schedule-Target"
	headerNextSchedule  = "Nats-Schedule-Next"
	headerScheduler     = "Nats-Scheduler"
	headerTTL           = "Nats-TTL"
	headerBatchID       = "Nats-Batch-Id"
	headerBatchSeq      = "Nats-Batch-Sequence"
	headerBatchCommit   = "Nats-Batch-Commit"
)

// version is one version of a timer.
type version struct {
	id
	due     int64 // nanoseconds since 1970
	payload []byte
	first   uint64 // the generation that its ID is made of; 0 is gen
	attempt int    // 1 or more
	every   Every
}

// firingID returns the ID of the firing that the version is an attempt of.
func (v version) firingID() string {
	return string(v.token.base()) + "." + strconv.FormatUint(v.origin(), 10)
}

// origin returns the generation that the ID is made of.
func (v version) origin() uint64 {
	if v.first != 0 {
		return v.first
	}
	return v.gen
}

// timer returns what users see of the version.
func (v version) timer() (Timer, error) {
	key, err := v.token.key()
	return Timer{
		Key:        key,
		Due:        time.Unix(0, v.due).UTC(),
		Payload:    v.payload,
		Generation: v.gen,
		Attempt:    v.attempt,
		Every:      v.every,
	}, err
}

// header returns the headers that hold the version's fields.
func (v version) header() nats.Header {
	h := nats.Header{headerDue: {strconv.FormatInt(v.due, 10)}}
	if v.first != 0 {
		h[headerFirst] = []string{strconv.FormatUint(v.first, 10)}
	}
	if v.attempt > 1 {
		h[headerAttempt] = []string{strconv.Itoa(v.attempt)}
	}
	if !v.every.isZero() {
		h[headerEvery] = []string{v.every.header()}
	}
	return h
}

// parseVersion reads the fields of a version.
func parseVersion(v id, h nats.Header, payload []byte) (version, error) {
	fail := func(name string, err error) (version, error) {
		return version{}, fmt.Errorf("header %s: %q of generation %d: %w", name, h.Get(name), v.gen, err)
	}
	out := version{id: v, payload: payload, attempt: 1}
	var err error
	if out.due, err = strconv.ParseInt(h.Get(headerDue), 10, 64); err != nil {
		return fail(headerDue, err)
	}
	if text := h.Get(headerFirst); text != "" {
		if out.first, err = strconv.ParseUint(text, 10, 64); err != nil {
			return fail(headerFirst, err)
		}
	}
	if text := h.Get(headerAttempt); text != "" {
		if out.attempt, err = strconv.Atoi(text); err != nil {
			return fail(headerAttempt, err)
		}
		out.attempt = max(out.attempt, 1)
	}
	if text := h.Get(headerEvery); text != "" {
		if out.every, err = parseEvery(text); err != nil {
			return fail(headerEvery, err)
		}
	}
	return out, nil
}

// generation returns a generation larger than previous: the clock's nanoseconds
// where that is larger, with ten random bits, so that two writers of one key at
// one time have different ones.
func generation(now time.Time, previous uint64) uint64 {
	base := uint64(max(now.UnixNano(), 0)) &^ 0x3ff
	if base <= previous {
		base = previous + 1
	}
	return base + rand.Uint64N(1024)
}

// condition is what must hold for a write: that the last message that the filter
// matches has this sequence, or that there is none if it is 0.
type condition struct {
	filter string
	seq    uint64
}

func (c condition) set(h nats.Header) {
	h[headerExpectSeq] = []string{strconv.FormatUint(c.seq, 10)}
	h[headerExpectSubject] = []string{c.filter}
}

// purge makes the write remove the schedule on subject.
func purge(h nats.Header, subject string) {
	h[headerNextSchedule] = []string{"purge"}
	h[headerScheduler] = []string{subject}
}

// wakeFormat is RFC 3339 with milliseconds. The server's own helper cuts to
// seconds.
const wakeFormat = "2006-01-02T15:04:05.000Z"

// wake returns when a timer is handed to the workers.
func (s *Store) wake(due int64) int64 { return due - int64(s.lead) }

// pendingMessage returns the message that stores v: a schedule that the server
// publishes at the lead before v is due, or what it would publish if that time
// has come.
func (s *Store) pendingMessage(v version, c condition, now time.Time) *nats.Msg {
	h := v.header()
	c.set(h)
	msg := &nats.Msg{Subject: s.names.of(kindDue, v.id), Header: h, Data: v.payload}
	if wake := s.wake(v.due); wake > now.UnixNano() {
		h[headerSchedule] = []string{"@at " + time.Unix(0, wake).UTC().Format(wakeFormat)}
		h[headerTarget] = []string{msg.Subject}
		msg.Subject = s.names.of(kindAt, v.id)
	}
	return msg
}

// The fates of a generation.
const (
	fateClaimed   = "claimed"
	fateCancelled = "cancelled"
	fateMoved     = "moved"
)

// How long fates are kept. They must outlive a message that the server sends to
// the workers late.
const (
	ttlSettled = time.Minute     // of a schedule that was purged long before its time
	ttlClaimed = 5 * time.Minute // renewed while the handler runs
	ttlClose   = time.Hour       // decided close to the time, where the message may be on its way
	ttlEvery   = 24 * time.Hour  // of an occurrence, whose claim set the next one
)

// fateMessage returns the message that decides the fate of v.
func (s *Store) fateMessage(v id, fate, by string, ttl time.Duration) *nats.Msg {
	return &nats.Msg{Subject: s.names.of(kindFate, v), Header: nats.Header{
		headerFate: {fate},
		headerBy:   {by},
		headerTTL:  {ttl.String()},
	}}
}

// firstFate is the condition that the fate of v is open.
func (s *Store) firstFate(v id) condition { return condition{s.names.of(kindFate, v), 0} }
