package task

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
)

func (b *bench) method() {}

func named(hwt.Timeout) error { return nil }

func TestFunctionsAreCalledByNameAndPlace(t *testing.T) {
	const pkg = `^github\.com/hashedwheel/hwt/internal/task\.`
	const place = ` \(.*internal/task/name_test\.go:\d+\)$`
	assert.Regexp(t, pkg+`named`+place, Name(hwt.TaskFunc(named)))
	assert.Regexp(t, pkg+`TestFunctionsAreCalledByNameAndPlace\.func1`+place, Name(Func(func() {})))
	assert.Regexp(t, pkg+`\(\*bench\)\.method$`, Name(Func(new(bench).method)))
	assert.Equal(t, "func", Name(Func(nil)))
}

func TestOtherTasksAreCalledByTheirType(t *testing.T) {
	assert.Equal(t, "*task.notifier", Name(new(notifier)))
	assert.Equal(t, "<nil>", Name(nil))
}

func TestDescriptionNamesDeadlineEndAndTask(t *testing.T) {
	for want, got := range map[string]string{
		"timeout(in 5s, task *task.notifier)":           Describe(5*time.Second, false, "", new(notifier)),
		"timeout(5s ago, expired, task *task.notifier)": Describe(-5*time.Second, false, "expired", new(notifier)),
		"timeout(now, cancelled, task *task.notifier)":  Describe(0, false, "cancelled", new(notifier)),
		"timeout(never, task *task.notifier)":           Describe(math.MaxInt64, true, "", new(notifier)),
		"timeout(in 2ns, task <nil>)":                   Describe(2, false, "", nil),
	} {
		assert.Equal(t, want, got)
	}
}
