package backendtest

import (
	"errors"
	"testing"

	"github.com/hashedwheel/hwt/durable/backend"
)

// testStrays looks for rows that no worker of some kinds and schedules leases.
func testStrays(t *testing.T, b backend.Backend) {
	ctx := t.Context()
	for i, key := range []string{"mail/1", "sms/\x00\xff", "plain", "call/1"} {
		op := set(key, int64(i+1))
		op.Row.Group = "g"
		apply(t, b, op)
	}
	nightly := set("mail/nightly", 9)
	nightly.Row.Every, nightly.Row.Schedule = "0 0 ", "nightly"
	apply(t, b, nightly)
	claimed := apply(t, b, set("claimed/1", 1)).Row
	worker := join(t, b)
	equal(t, "claim", must(b.Claim(ctx, worker, []backend.Claim{{Ref: claimed.Ref()}}))(t), []backend.Answer{backend.Won})
	for _, c := range []struct {
		kinds, schedules []string
		before           int64
		want             string
	}{
		{nil, []string{"nightly"}, farDue, ""},
		{nil, nil, farDue, "mail/nightly"},
		{nil, nil, 9, ""},
		{[]string{"mail/"}, nil, farDue, "sms/\x00\xff"},
		{[]string{"mail/"}, nil, 2, ""},
		{[]string{"mail/", "sms/"}, nil, farDue, "plain"},
		{[]string{"mail/", "sms/", ""}, nil, farDue, "call/1"},
		{[]string{"mail/", "sms/", "", "call/"}, []string{"other"}, farDue, "mail/nightly"},
		{[]string{"mail/", "sms/", "", "call/"}, []string{"other", "nightly"}, farDue, ""},
	} {
		row, err := b.Stray(ctx, c.kinds, c.schedules, c.before)
		if found := c.want != ""; !found && !errors.Is(err, backend.ErrNotFound) || found && err != nil {
			t.Errorf("kinds %q, schedules %q, before %d: %v", c.kinds, c.schedules, c.before, err)
		}
		equal(t, "key", row.Key, c.want)
		if row.Key == nightly.Row.Key {
			equal(t, "due time and schedule", []any{row.Due, row.Schedule}, []any{9, "nightly"})
		}
	}
	equal(t, "error", b.Pause(ctx, backend.Pause{Scope: backend.Scope{Prefix: "sms/", Group: "g"}}), nil)
	equal(t, "key beside a pause", must(b.Stray(ctx, []string{"mail/"}, nil, farDue))(t).Key, "plain")
	equal(t, "error", b.Pause(ctx, backend.Pause{}), nil)
	_, err := b.Stray(ctx, []string{"mail/"}, nil, farDue)
	fails(t, "Stray of a paused store", err, backend.ErrNotFound)
}
