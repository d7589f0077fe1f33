package durable

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSubjectsAreReadAsTheyWereMade(t *testing.T) {
	n := names{"orders"}
	for _, key := range []string{"order-17", "a.b.*.>", "\x00\xff~", "ключ"} {
		for _, kind := range []string{kindAt, kindDue, kindFate, kindDead} {
			want := id{7, tokenOf(key), 1763799071399980416}
			gotKind, got, err := n.parse(n.of(kind, want))
			require.NoError(t, err)
			assert.Equal(t, kind, gotKind)
			assert.Equal(t, want, got)
			back, err := got.token.key()
			require.NoError(t, err)
			assert.Equal(t, key, back)
			assert.Equal(t, key, got.token.LogValue().String(), "logs show the key")
		}
	}
}

func TestSubjectsAreAsDocumented(t *testing.T) {
	n := names{"orders"}
	v := id{shardOf("order-17", 16), tokenOf("order-17"), 5}
	assert.Equal(t, "HWT_orders_06", n.stream(6))
	assert.Equal(t, 14, v.shard, "the shard is part of the format: it must never change")
	assert.Equal(t, "hwt.orders.14.at.b3JkZXItMTc.5", n.of(kindAt, v))
	assert.Equal(t, "hwt.orders.14.due.b3JkZXItMTc.5", n.of(kindDue, v))
	assert.Equal(t, "hwt.orders.14.fate.of.b3JkZXItMTc.5", n.of(kindFate, v))
	assert.Equal(t, "hwt.orders.14.dead.of.b3JkZXItMTc.5", n.of(kindDead, v))
	assert.Equal(t, "hwt.orders.14.*.b3JkZXItMTc.*", n.versions(v.shard, v.token))
}

func TestForeignSubjectsAreRefused(t *testing.T) {
	n := names{"orders"}
	for _, subject := range []string{"", "hwt.other.00.at.a.1", "hwt.orders.00.at.a", "hwt.orders.xx.at.a.1",
		"hwt.orders.00.at.a.-1", "hwt.orders.00.at.a.1.2.3", "hwt.orders."} {
		_, _, err := n.parse(subject)
		assert.Error(t, err, subject)
	}
	_, err := token("=").key()
	assert.Error(t, err)
}
