package inspect

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// Limits of the contents of a section.
const (
	maxBlocks = 20
	maxRows   = 100 // rows of figures, of bars, and of a table
	maxCells  = 20  // cells per row
	maxText   = 500 // characters per text
)

// shownBlock is a Block in JSON.
type shownBlock struct {
	Title   string        `json:"title,omitempty"`
	Figures []shownFigure `json:"figures,omitempty"`
	Bars    []shownFigure `json:"bars,omitempty"`
	Columns []string      `json:"columns,omitempty"`
	Rows    [][]any       `json:"rows,omitempty"`
	More    int           `json:"more,omitempty"` // the number of omitted rows
}

// shownFigure is a Figure in JSON.
type shownFigure struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
	Bad   bool   `json:"bad,omitempty"`
}

// shownDuration and shownTime distinguish durations and times from other values in JSON.
type (
	shownDuration struct {
		NS int64 `json:"ns"`
	}
	shownTime struct {
		Time time.Time `json:"time"`
	}
)

// showBlocks copies blocks up to the limits.
func showBlocks(blocks []Block) []shownBlock {
	all := make([]shownBlock, 0, min(len(blocks), maxBlocks))
	for _, b := range blocks[:min(len(blocks), maxBlocks)] {
		rows := b.Table.Rows[:min(len(b.Table.Rows), maxRows)]
		s := shownBlock{
			Title:   textOf(b.Title),
			Figures: showFigures(b.Figures),
			Bars:    showFigures(b.Bars),
			More:    max(len(b.Figures)-maxRows, 0) + max(len(b.Bars)-maxRows, 0) + len(b.Table.Rows) - len(rows),
		}
		for _, c := range b.Table.Columns[:min(len(b.Table.Columns), maxCells)] {
			s.Columns = append(s.Columns, textOf(c))
		}
		for _, row := range rows {
			cells := make([]any, len(s.Columns))
			for i := range cells {
				cells[i] = "" // a short row ends in empty cells
				if i < len(row) {
					cells[i] = cellOf(row[i])
				}
			}
			s.Rows = append(s.Rows, cells)
		}
		all = append(all, s)
	}
	return all
}

func showFigures(figures []Figure) (all []shownFigure) {
	for _, f := range figures[:min(len(figures), maxRows)] {
		all = append(all, shownFigure{textOf(f.Name), cellOf(f.Value), f.Bad})
	}
	return all
}

// cellOf converts a value for JSON: to nil, a bool, a number, a string, a shownDuration,
// or a shownTime.
func cellOf(value any) any {
	switch v := value.(type) {
	case nil:
		return nil
	case time.Duration:
		return shownDuration{int64(v)}
	case time.Time:
		v = v.UTC() // JSON has no zones of a day or more, and no other years
		if v.IsZero() || v.Year() < 0 || v.Year() > 9999 {
			return nil
		}
		return shownTime{v}
	case error, fmt.Stringer:
		return textOf(fmt.Sprint(v))
	}
	switch v := reflect.ValueOf(value); {
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return v.Uint()
	case v.CanFloat() && !math.IsNaN(v.Float()) && !math.IsInf(v.Float(), 0):
		return v.Float()
	case v.Kind() == reflect.Bool:
		return v.Bool()
	}
	return textOf(fmt.Sprint(value))
}

// textOf returns the first maxText characters of a text. Control characters and
// bidirectional controls are replaced, because a terminal or a browser would obey them.
func textOf(text string) string {
	if len(text) > 4*maxText {
		text = text[:4*maxText] // at least maxText characters
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText-1]) + "…"
	}
	return text
}

// plain returns a cell as plain text.
func plain(cell any) string {
	switch v := cell.(type) {
	case nil:
		return "-"
	case shownDuration:
		return time.Duration(v.NS).String()
	case shownTime:
		return v.Time.Format(time.RFC3339)
	}
	return fmt.Sprint(cell)
}
