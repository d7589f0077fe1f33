package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/hashedwheel/hwt/internal/check"
	"github.com/hashedwheel/hwt/internal/usercode"
)

const (
	sectionEvery  = 2 * time.Second
	sectionSeldom = 10 * time.Second // the longest pause after a slow read
	sectionWithin = 3 * time.Second  // the time limit of a read
)

// shownSection is the contents of a section in JSON.
type shownSection struct {
	Index  int          `json:"index"`
	Title  string       `json:"title"`
	At     time.Time    `json:"at"`
	Took   int64        `json:"took_ns"`
	Error  string       `json:"error,omitempty"`
	Blocks []shownBlock `json:"blocks"`
}

// sectionReader reads a section, with one call in progress at most.
type sectionReader struct {
	index   int
	section Section
	title   string
	slot    chan struct{} // holds an element while a Read runs
}

func newSectionReaders(sections []Section) (all []*sectionReader) {
	for _, s := range sections {
		if !check.IsNil(s) {
			all = append(all, &sectionReader{len(all), s, textOf(s.Title()), make(chan struct{}, 1)})
		}
	}
	return all
}

var (
	errNoAnswer = fmt.Errorf("no answer within %v", sectionWithin)
	errBusy     = errors.New("the previous read has not returned")
)

// read reads the section. read returns when ctx ends or the time limit has passed. A Read
// that ignores the context keeps running, and no other Read starts until the return.
func (r *sectionReader) read(ctx context.Context) shownSection {
	start := time.Now()
	shown := shownSection{Index: r.index, Title: r.title, At: start.Round(0), Blocks: []shownBlock{}}
	got := r.call(ctx)
	shown.Error = got.problem
	if got.blocks != nil {
		shown.Blocks = got.blocks
	}
	shown.Took = int64(time.Since(start))
	return shown
}

// result is the outcome of a Read, already converted: values and errors may have types of the
// program, with methods that may panic.
type result struct {
	blocks  []shownBlock
	problem string // "" if there was no error
}

func failed(err error) result { return result{problem: textOf(err.Error())} }

// call runs Read in a goroutine and waits for it until ctx ends.
func (r *sectionReader) call(ctx context.Context) result {
	ctx, cancel := context.WithTimeoutCause(ctx, sectionWithin, errNoAnswer)
	defer cancel()
	select {
	case r.slot <- struct{}{}:
	case <-ctx.Done():
		return failed(errBusy)
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-r.slot }()
		usercode.Run(func() { done <- r.convert(ctx) }, func(err error) { done <- failed(err) })
	}()
	select {
	case got := <-done:
		return got
	case <-ctx.Done():
		return failed(context.Cause(ctx))
	}
}

// convert calls Read and the methods of the values that it returned.
func (r *sectionReader) convert(ctx context.Context) result {
	blocks, err := r.section.Read(ctx)
	got := result{blocks: showBlocks(blocks)}
	if err != nil {
		got.problem = textOf(err.Error())
	}
	return got
}

// readAll reads all sections concurrently.
func readAll(ctx context.Context, readers []*sectionReader) []shownSection {
	all := make([]shownSection, len(readers))
	var done sync.WaitGroup
	for i, r := range readers {
		done.Go(func() { all[i] = r.read(ctx) })
	}
	done.Wait()
	return all
}

// follow publishes the contents of a section until stop ends ctx.
func (h *hub) follow(ctx context.Context, stop chan struct{}, r *sectionReader) {
	for !isDone(stop) {
		shown := r.read(ctx)
		h.publish(stop, topics+r.index, shown)
		wait := time.NewTimer(min(max(sectionEvery, maxShare*time.Duration(shown.Took)), sectionSeldom))
		select {
		case <-wait.C:
		case <-stop:
			wait.Stop()
		}
	}
}

// writeText writes a section as plain text.
func (s shownSection) writeText(w io.Writer) {
	fmt.Fprintf(w, "%s\n", s.Title)
	if s.Error != "" {
		fmt.Fprintf(w, "  error: %s\n", s.Error)
	}
	for _, b := range s.Blocks {
		b.writeText(w)
	}
	fmt.Fprintln(w)
}

func (b shownBlock) writeText(w io.Writer) {
	if b.Title != "" {
		fmt.Fprintf(w, "  %s\n", b.Title)
	}
	for _, figures := range [][]shownFigure{b.Figures, b.Bars} {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, f := range figures {
			fmt.Fprintf(table, "  %s\t%s\n", f.Name, plain(f.Value))
		}
		table.Flush()
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(b.Columns) > 0 {
		fmt.Fprintf(table, "  %s\n", strings.Join(b.Columns, "\t"))
	}
	for _, row := range b.Rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = plain(c)
		}
		fmt.Fprintf(table, "  %s\n", strings.Join(cells, "\t"))
	}
	table.Flush()
	if b.More > 0 {
		fmt.Fprintf(w, "  and %d more\n", b.More)
	}
}
