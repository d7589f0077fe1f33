package durable

import (
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strconv"
	"strings"
)

// The subjects of a store; WIRE.md describes them.
//
//	hwt.<name>.<shard>.at.<key>.<generation>       pending: a message schedule
//	hwt.<name>.<shard>.due.<key>.<generation>      handed to workers
//	hwt.<name>.<shard>.fate.of.<key>.<generation>  claimed, cancelled or moved
//	hwt.<name>.<shard>.dead.of.<key>.<generation>  given up
//
// The first two have one token less than the others, so that the filter
// hwt.<name>.<shard>.*.<key>.* matches these two only. That filter is what
// writes of new generations are conditional on.
const (
	kindAt   = "at"
	kindDue  = "due"
	kindFate = "fate.of"
	kindDead = "dead.of"
)

// token is a key as it stands in subjects: base64url without padding. Retries of
// recurring timers have "~" and the generation appended, and canaries consist of
// "~": characters that are in no key's token.
type token string

func tokenOf(key string) token {
	return token(base64.RawURLEncoding.EncodeToString([]byte(key)))
}

// key returns the key of the token, or an error for one that no key has.
func (t token) key() (string, error) {
	text, _, _ := strings.Cut(string(t), "~")
	key, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("token %q: %w", t, err)
	}
	return string(key), nil
}

// LogValue makes logs show the key.
func (t token) LogValue() slog.Value {
	if key, err := t.key(); err == nil {
		return slog.StringValue(key)
	}
	return slog.StringValue(string(t))
}

// id names one version of one timer.
type id struct {
	shard int
	token token
	gen   uint64
}

// shardOf returns the shard of a key: its 64-bit FNV-1a hash modulo shards.
func shardOf(key string, shards int) int {
	h := fnv.New64a()
	h.Write([]byte(key))
	return int(h.Sum64() % uint64(shards))
}

// names makes the names of a store's streams and subjects.
type names struct{ store string }

func (n names) stream(shard int) string { return fmt.Sprintf("HWT_%s_%02d", n.store, shard) }

func (n names) prefix(shard int) string { return fmt.Sprintf("hwt.%s.%02d.", n.store, shard) }

// of returns the subject of one kind and version.
func (n names) of(kind string, v id) string {
	return n.prefix(v.shard) + kind + "." + string(v.token) + "." + strconv.FormatUint(v.gen, 10)
}

// versions returns the filter that matches all that is pending or due of a key.
func (n names) versions(shard int, t token) string {
	return n.prefix(shard) + "*." + string(t) + ".*"
}

// all returns the filter that matches all subjects of a kind.
func (n names) all(shard int, kind string) string { return n.prefix(shard) + kind + ".>" }

// parse takes a subject apart.
func (n names) parse(subject string) (kind string, v id, err error) {
	fail := func() (string, id, error) {
		return "", id{}, fmt.Errorf("subject %q is not one of store %q", subject, n.store)
	}
	rest, ok := strings.CutPrefix(subject, "hwt."+n.store+".")
	if !ok {
		return fail()
	}
	parts := strings.Split(rest, ".")
	if len(parts) == 5 {
		parts = append([]string{parts[0], parts[1] + "." + parts[2]}, parts[3:]...)
	}
	if len(parts) != 4 {
		return fail()
	}
	shard, err := strconv.Atoi(parts[0])
	if err != nil {
		return fail()
	}
	gen, err := strconv.ParseUint(parts[3], 10, 64)
	if err != nil {
		return fail()
	}
	return parts[1], id{shard, token(parts[2]), gen}, nil
}
