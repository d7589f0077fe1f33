package backendtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hashedwheel/hwt/durable/backend"
	"github.com/hashedwheel/hwt/durable/internal/memdb"
)

// testOverdue reads the first due row of each kind with each schedule.
func testOverdue(t *testing.T, b backend.Backend) {
	ctx := t.Context()
	for i, key := range []string{"mail/1", "sms/\x00\xff", "mail/2", "plain", "call/1", "plain too"} {
		op := set(key, int64(i+1))
		if key != "mail/2" {
			op.Row.Group = "g"
		}
		apply(t, b, op)
	}
	for i, name := range []string{"nightly", "nightly", "daily"} {
		op := set(fmt.Sprint("mail/", name, i), int64(i+20))
		op.Row.Every, op.Row.Schedule = "0 0 ", name
		apply(t, b, op)
	}
	apply(t, b, set("claimed/1", 1))
	claim(t, b, join(t, b), "claimed/1")
	overdue := func(before int64, want ...string) {
		t.Helper()
		rows := must(b.Overdue(ctx, before))(t)
		slices.SortFunc(rows, memdb.ByDue)
		var got []string
		for _, r := range rows {
			got = append(got, r.Key+" "+r.Schedule)
			equal(t, "row", r, backend.Row{Key: r.Key, Due: r.Due, Schedule: r.Schedule})
		}
		equal(t, fmt.Sprint("due before ", before), fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
	}
	overdue(1)
	overdue(2, "mail/1 ")
	overdue(9, "mail/1 ", "sms/\x00\xff ", "plain ", "call/1 ")
	overdue(farDue, "mail/1 ", "sms/\x00\xff ", "plain ", "call/1 ", "mail/nightly0 nightly", "mail/daily2 daily")
	equal(t, "error", b.Pause(ctx, backend.Pause{Scope: backend.Scope{Prefix: "mail/", Group: "g"}}), nil)
	overdue(9, "sms/\x00\xff ", "mail/2 ", "plain ", "call/1 ")
	equal(t, "error", b.Pause(ctx, backend.Pause{}), nil)
	overdue(farDue)
}
