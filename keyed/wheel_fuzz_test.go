package keyed_test

import (
	"testing"

	"github.com/hashedwheel/hwt/internal/enginetest"
)

// FuzzOperations drives the model with bytes. The first byte is the size of the timer's
// wheel. Each further two are a step: an operation, a key, and a delay.
func FuzzOperations(f *testing.F) {
	f.Add([]byte{2, 0x00, 3, 0x10, 1, 0x20, 0})             // set, move, delete
	f.Add([]byte{3, 0x00, 8, 0x01, 9, 0x41, 7, 0x10, 1})    // two keys, pass, a move across the current tick
	f.Add([]byte{0, 0x00, 2, 0x02, 2, 0x31, 2, 0x41, 5})    // a drain that schedules
	f.Add([]byte{2, 0x00, 0, 0x00, 0, 0x10, 0, 0x40, 1})    // at the next opportunity
	f.Add([]byte{1, 0x00, 9, 0x50, 0, 0x00, 9, 0x10, 1})    // stop
	f.Add([]byte{2, 0x04, 20, 0x44, 15, 0x14, 20, 0x44, 9}) // several rotations
	f.Add([]byte{2, 0x60, 5, 0x70, 0, 0x60, 1, 0x80, 0})    // set if absent, update, load and delete
	f.Add([]byte{2, 0x00, 9, 0x90, 5, 0x90, 9, 0x40, 6})    // set if sooner, twice
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || len(data) > 400 {
			t.Skip()
		}
		enginetest.Bubble(t, func(t *testing.T) {
			m := newModel(t, t, 1<<(data[0]%5))
			for data = data[1:]; len(data) >= 2; data = data[2:] {
				m.step(data[0]>>4, int(data[0]&0xf)%modelKeys, int(data[1]%40)-1)
				m.compare()
			}
			m.finish()
		})
	})
}

func (m *model) step(op byte, key, ticks int) {
	switch op % 10 {
	case 0:
		m.set(key, ticks)
	case 1:
		m.move(key, ticks)
	case 2:
		m.delete(key)
	case 3:
		m.drain(key * max(ticks, 0))
	case 4:
		m.pass(max(ticks, 0))
	case 5:
		m.stop()
	case 6:
		m.setIfAbsent(key, ticks)
	case 7:
		m.update(key)
	case 8:
		m.loadAndDelete(key)
	case 9:
		m.setIfSooner(key, ticks)
	}
}
