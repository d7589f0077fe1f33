package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// record is a message as stored.
type record struct {
	subject string
	seq     uint64
	header  nats.Header
	data    []byte
}

// errNoMessage is returned for a subject or sequence that has no message.
var errNoMessage = errors.New("no such message")

// get is what a request for a message asks for: one of the fields.
type get struct {
	Seq  uint64 `json:"seq,omitempty"`
	Last string `json:"last_by_subj,omitempty"`
}

// last returns the last message of a shard that filter matches.
func (s *Store) last(ctx context.Context, shard int, filter string) (record, error) {
	return s.read(ctx, shard, get{Last: filter})
}

// read reads one message. With one replica that is a direct get. With more, the
// leader is asked: a direct get may be answered by a server that lags, and then a
// timer that was just set would not be found.
func (s *Store) read(ctx context.Context, shard int, what get) (record, error) {
	body, err := json.Marshal(what)
	if err != nil {
		return record{}, err
	}
	verb, parse := "DIRECT.GET.", parseDirect
	if s.replicas > 1 {
		verb, parse = "STREAM.MSG.GET.", parseGet
	}
	subject := s.api + verb + s.names.stream(shard)
	var out record
	err = s.insist(ctx, func() error {
		msg, err := s.publish.request(ctx, &nats.Msg{Subject: subject, Data: body})
		if err != nil {
			return err
		}
		out, err = parse(msg)
		return err
	})
	return out, err
}

// parseDirect reads the answer to a direct get: the message itself.
func parseDirect(msg *nats.Msg) (record, error) {
	switch status := msg.Header.Get("Status"); status {
	case "":
	case "404":
		return record{}, errNoMessage
	default:
		return record{}, fmt.Errorf("direct get: %s %s", status, msg.Header.Get("Description"))
	}
	seq, err := strconv.ParseUint(msg.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return record{}, fmt.Errorf("direct get: sequence: %w", err)
	}
	return record{msg.Header.Get(jetstream.SubjectHeader), seq, msg.Header, msg.Data}, nil
}

// parseGet reads the answer of the leader: JSON with the message in it.
func parseGet(msg *nats.Msg) (record, error) {
	var body struct {
		Error   *serverError `json:"error"`
		Message struct {
			Subject string `json:"subject"`
			Seq     uint64 `json:"seq"`
			Header  []byte `json:"hdrs"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(msg.Data, &body); err != nil {
		return record{}, fmt.Errorf("get: %w", err)
	}
	if e := body.Error; e != nil {
		if e.ErrCode == codeNoMessage {
			return record{}, errNoMessage
		}
		return record{}, e
	}
	m := body.Message
	out := record{m.Subject, m.Seq, nil, m.Data}
	if len(m.Header) > 0 {
		var err error
		if out.header, err = nats.DecodeHeadersMsg(m.Header); err != nil {
			return record{}, fmt.Errorf("get: headers: %w", err)
		}
	}
	return out, nil
}

// version reads the record as a version of a timer.
func (s *Store) version(r record) (kind string, v version, err error) {
	kind, name, err := s.names.parse(r.subject)
	if err != nil {
		return "", version{}, err
	}
	v, err = parseVersion(name, r.header, r.data)
	return kind, v, err
}
