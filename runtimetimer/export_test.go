package runtimetimer

import (
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt"
)

const (
	TimeoutSize = unsafe.Sizeof(timeout{})
	EntrySize   = unsafe.Sizeof(entry{})
	MaxFree     = maxFree
)

// Free returns how many entries t keeps for reuse.
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

// Shards returns how many shards t has.
func (t *Timer) Shards() int { return len(t.shards) }

// FireLate calls what the runtime calls for the timeout n, as a goroutine does
// that was on its way when n was reset or ended: the runtime believes that it
// fired, so the next Reset or Stop of its timer says false.
func FireLate(n any) (fire func()) {
	e := n.(*timeout).entry
	e.timer.Stop()
	return e.fire
}

// Expire ends the timeout n, as the goroutine does whose time has come, and returns
// what that goroutine does next.
func Expire(n any) (run func()) {
	t := n.(*timeout)
	t.entry.timer.Stop()
	t.shard.expire(t.entry)
	return func() { t.shard.perform(t, expired) }
}

// AddToAShard is the last step of NewTimeout, as it comes when Stop got in
// before it.
func (t *Timer) AddToAShard(task hwt.TimerTask, delay time.Duration) bool {
	s := t.anyShard()
	return s.add(&timeout{shard: s, task: task}, delay, t.deadline(delay))
}
