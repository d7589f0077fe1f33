package enginekit

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt"
)

func (b *bench) method() {}

func named(hwt.Timeout) error { return nil }

func TestFunctionsAreNamedWithTheirLine(t *testing.T) {
	const pkg = `^github\.com/hashedwheel/hwt/internal/enginekit\.`
	const place = ` \(.*internal/enginekit/name_test\.go:\d+\)$`
	assert.Regexp(t, pkg+`named`+place, TaskName(hwt.TaskFunc(named)))
	assert.Regexp(t, pkg+`TestFunctionsAreNamedWithTheirLine\.func1`+place, TaskName(Func(func() {})))
	assert.Regexp(t, pkg+`\(\*bench\)\.method$`, TaskName(Func(new(bench).method)))
	assert.Equal(t, "func", TaskName(Func(nil)))
}

func TestTasksOfOneKeyHaveOneName(t *testing.T) {
	contextTask := func(context.Context, hwt.Timeout) error { return nil }
	tasks := []hwt.TimerTask{
		nil, new(notifier), hwt.TaskFunc(named), Func(new(bench).method), Func(nil), hwt.ContextTaskFunc(contextTask),
		hwt.ContextTaskFunc(func(context.Context, hwt.Timeout) error { return nil }),
	}
	for i, a := range tasks {
		for j, b := range tasks {
			assert.Equal(t, i == j, KeyOf(a) == KeyOf(b))
			assert.Equal(t, i == j, TaskName(a) == TaskName(b))
		}
	}
}

func TestTaskOfOnExecutorIsNamedAsItself(t *testing.T) {
	pool := executor(func(func()) error { return nil })
	assert.Equal(t, TaskName(hwt.TaskFunc(named)), TaskName(hwt.OnExecutor(pool, hwt.TaskFunc(named))))
	assert.Equal(t, KeyOf(new(notifier)), KeyOf(hwt.OnExecutor(pool, new(notifier))))
}

func TestGoroutinesOfAnExecutorLoseAllLabels(t *testing.T) {
	assert.Equal(t, context.Background(), NewLabels("timer", true).elsewhere().after)
	assert.Nil(t, (*Labels)(nil).elsewhere())
}

func TestOtherTasksAreNamedByType(t *testing.T) {
	assert.Equal(t, "*enginekit.notifier", TaskName(new(notifier)))
	assert.Equal(t, "<nil>", TaskName(nil))
}
