package mpsc

import "github.com/hashedwheel/hwt/internal/cacheline"

import "unsafe"

const FalseSharing = cacheline.Padding

// Layout has the offsets of a Queue's fields, in bytes.
type Layout struct {
	PushLink, Head, TakeLink, Oldest, EndOfFields, Size uintptr
}

// LayoutOf returns the layout of a Queue[T].
func LayoutOf[T any]() Layout {
	var q Queue[T]
	return Layout{
		PushLink:    unsafe.Offsetof(q.pushLink),
		Head:        unsafe.Offsetof(q.head),
		TakeLink:    unsafe.Offsetof(q.takeLink),
		Oldest:      unsafe.Offsetof(q.oldest),
		EndOfFields: unsafe.Offsetof(q.closing) + unsafe.Sizeof(q.closing),
		Size:        unsafe.Sizeof(q),
	}
}

// Next returns the element that the link refers to.
func (l *Link[T]) Next() *T { return l.next }
