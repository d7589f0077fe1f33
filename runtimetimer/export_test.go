package runtimetimer

import (
	"runtime"
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt"
	"github.com/hashedwheel/hwt/internal/enginekit"
)

const (
	TimeoutSize = unsafe.Sizeof(timeout{})
	EntrySize   = unsafe.Sizeof(entry{})
	MaxFree     = maxFree
)

// Free returns the number of entries that t keeps for reuse.
func (t *Timer) Free() int {
	n := 0
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		n += s.freeLen
		s.mu.Unlock()
	}
	return n
}

// Shards returns the number of shards of t.
func (t *Timer) Shards() int { return len(t.shards) }

// FireLate returns the function that the runtime calls for the timeout n. A test calls it
// later, as a goroutine that started before n was reset or ended. The runtime timer counts
// as fired, so its next Reset or Stop returns false.
func FireLate(n any) (fire func()) {
	e := n.(*timeout).entry
	e.timer.Stop()
	return e.fire
}

// Expire ends the timeout n, as its goroutine does, and returns that goroutine's next
// step.
func Expire(n any) (run func()) {
	t := n.(*timeout)
	t.entry.timer.Stop()
	t.shard.expire(t.entry)
	return func() { t.shard.perform(t, t.shard.timer.runner.Run) }
}

// FireAcrossReset calls fire for the timeout n, and gives n the present as its
// deadline while fire waits for the shard's mu.
func FireAcrossReset(n any) {
	t := n.(*timeout)
	e := t.entry
	e.timer.Stop()
	t.shard.mu.Lock()
	fired := make(chan struct{})
	go func() {
		e.fire()
		close(fired)
	}()
	time.Sleep(10 * time.Millisecond) // until fire waits
	t.store(enginekit.PendingWord(t.shard.timer.clock.Now()))
	t.shard.mu.Unlock()
	<-fired
}

// AddToAShard is the last step of a NewTimeout after a concurrent Stop.
func (t *Timer) AddToAShard(task hwt.TimerTask, delay time.Duration) bool {
	s := t.anyShard()
	return s.add(&timeout{shard: s, task: task}, delay, t.clock.Deadline(delay))
}

// AddBusy is NewTimeout while another call holds the shard. left of the delay is left then.
func (t *Timer) AddBusy(task hwt.TimerTask, delay, left time.Duration) {
	s := t.anyShard()
	s.busy(func() { s.add(s.newTimeout(task, 0), delay, t.clock.Deadline(left)) })
}

// ResetBusy is Reset of the timeout n while another call holds its shard, as AddBusy.
func ResetBusy(n any, delay, left time.Duration) {
	t := n.(*timeout)
	t.shard.busy(func() { t.shard.reset(t, delay, t.shard.timer.clock.Deadline(left)) })
}

// busy calls f while another call holds the shard.
func (s *shard) busy(f func()) {
	s.mu.Lock()
	done := make(chan struct{})
	go func() { f(); close(done) }()
	for range 100 {
		runtime.Gosched() // f waits for mu
	}
	s.mu.Unlock()
	<-done
}

// AddSlowly is NewTimeouts for two chunks of one task. A while passes before each.
func (t *Timer) AddSlowly(task hwt.TimerTask, delay, while time.Duration) {
	t.anyShard().addAll(2, func(yield func([]hwt.TimerTask) bool) {
		for range 2 {
			time.Sleep(while)
			yield([]hwt.TimerTask{task})
		}
	}, t.clock.Deadline(delay))
}
