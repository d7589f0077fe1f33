package runtimetimer

import (
	"time"
	"unsafe"

	"github.com/hashedwheel/hwt"
)

const (
	TimeoutSize = unsafe.Sizeof(timeout{})
	ArmSize     = unsafe.Sizeof(arm{})
	SpareArms   = spareArms
)

// Spares returns how many arms t keeps for reuse.
func (t *Timer) Spares() int {
	n := 0
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		n += s.spares
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
	a := n.(*timeout).arm
	a.timer.Stop()
	return a.fire
}

// AddToAShard is the last step of NewTimeout, as it comes when Stop got in
// before it.
func (t *Timer) AddToAShard(task hwt.TimerTask, delay time.Duration) bool {
	s := t.anyShard()
	return s.add(&timeout{shard: s, task: task}, delay)
}

var ShardCount = shardCount
