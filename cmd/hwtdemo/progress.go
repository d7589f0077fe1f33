package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/human"
	"github.com/hashedwheel/hwt/cmd/hwtdemo/internal/shop"
)

// display shows how far a simulation is.
type display interface {
	show(shop.Balance)
	end()
}

// How often a display is brought up to date.
const (
	barEvery  = 100 * time.Millisecond
	lineEvery = time.Second
)

// follow shows the progress of s on w until stop is called: as a bar on a
// terminal, as plain lines otherwise.
func follow(s *shop.Simulation, orders int, w io.Writer) (stop func()) {
	var d display = &plainLines{w: w, began: time.Now()}
	every := lineEvery
	if isTerminal(w) {
		d, every = newBar(orders, w), barEvery
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		showEvery(every, d, s, quit)
	}()
	return func() {
		close(quit)
		<-done
	}
}

// showEvery shows the progress of s again and again until quit is closed.
func showEvery(every time.Duration, d display, s *shop.Simulation, quit <-chan struct{}) {
	look := time.NewTicker(every)
	defer look.Stop()
	defer d.end()
	for {
		select {
		case <-quit:
			return
		case <-look.C:
			d.show(s.Progress())
		}
	}
}

// plainLines shows progress as lines.
type plainLines struct {
	w     io.Writer
	began time.Time
}

func (p *plainLines) show(b shop.Balance) {
	fmt.Fprintf(p.w, "%3.0fs  created %s  paid %s  released %s  pending %s\n", time.Since(p.began).Seconds(),
		human.Count(b.Reserved), human.Count(b.Paid), human.Count(b.Released), human.Count(b.Rest()))
}

func (p *plainLines) end() {}

// bar shows progress as a bar: first how many orders are created, then how many
// have their end.
type bar struct {
	orders int64
	ending bool
	bar    *progressbar.ProgressBar
	w      io.Writer
}

func newBar(orders int, w io.Writer) *bar {
	b := &bar{orders: int64(orders), w: w}
	b.bar = b.open("creating orders")
	return b
}

// open returns a new bar, which its end will wipe out.
func (b *bar) open(title string) *progressbar.ProgressBar {
	return progressbar.NewOptions64(b.orders,
		progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetDescription(fmt.Sprintf("%-22s", title)),
		progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionClearOnFinish(),
	)
}

func (b *bar) show(balance shop.Balance) {
	if balance.Reserved < b.orders {
		b.set(balance.Reserved)
		return
	}
	if !b.ending {
		b.ending = true
		b.end()
		b.bar = b.open("paid or released")
	}
	b.set(b.orders - balance.Rest())
}

// set moves the bar. It cannot fail in a way that matters: it is decoration.
func (b *bar) set(n int64) { _ = b.bar.Set64(n) }

func (b *bar) end() { _ = b.bar.Clear() }
