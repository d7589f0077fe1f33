package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashedwheel/hwt/bench/internal/results"
)

// goOn takes over what was measured before, if anything.
func (r *runner) goOn() error {
	before := r.options.Before
	if before == nil {
		return nil
	}
	if now, then := r.results.Machine, before.Machine; now.CPU != then.CPU || now.Cores != then.Cores || now.Go != then.Go {
		return fmt.Errorf("cannot go on with results of %s, %d cores, %s on %s, %d cores, %s",
			then.CPU, then.Cores, then.Go, now.CPU, now.Cores, now.Go)
	}
	if before.Quick != r.results.Quick {
		return fmt.Errorf("cannot go on with results of a quick run: %t, in a quick run: %t", before.Quick, r.results.Quick)
	}
	if before.Commit != r.results.Commit {
		r.note(fmt.Sprintf("A run at commit %s was continued at commit %s.", before.Commit, r.results.Commit))
	}
	r.results.Commit, r.results.Date, r.results.Took, r.results.Machine = before.Commit, before.Date, before.Took, before.Machine
	r.results.Rounds = before.Rounds
	for _, text := range before.Notes {
		if !strings.HasPrefix(text, wasInterrupted) && !slices.Contains(r.results.Notes, text) {
			r.results.Notes = append(r.results.Notes, text)
		}
	}
	for _, cell := range r.results.Cells {
		i := slices.IndexFunc(before.Cells, func(c *results.Cell) bool { return c.Spec == cell.Spec })
		if i >= 0 {
			*cell = *before.Cells[i]
		}
	}
	return nil
}

// lacks reports whether the cell is to be measured in a round.
func (r *runner) lacks(c *results.Cell, round int) bool {
	return round < rounds(c.Spec, r.options.Rounds) && (r.options.Before == nil || c.Rounds() <= round && c.Failure == "")
}
