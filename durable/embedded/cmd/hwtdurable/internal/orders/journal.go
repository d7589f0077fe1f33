package orders

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// journal is what the shop itself must know after a crash: which orders it placed,
// and which payments it began and with what outcome. Each line is written before
// what follows from it is done.
type journal struct {
	mu     sync.Mutex
	file   *os.File       // Guarded by mu.
	placed int            // orders placed, all below this number. Guarded by mu.
	pays   map[int]string // the last word about each payment. Guarded by mu.
}

// The words about payments.
const (
	payBegun = "begun" // the check may be cancelled
	payDone  = "paid"  // the check is cancelled
	payLate  = "late"  // the check came first
)

func openJournal(dir string) (*journal, error) {
	path := filepath.Join(dir, "journal")
	j := &journal{pays: make(map[int]string)}
	if err := j.read(path); err != nil {
		return nil, err
	}
	var err error
	j.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return j, err
}

func (j *journal) read(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var order int
		var word string
		if _, err := fmt.Sscan(lines.Text(), &word, &order); err != nil {
			continue // the last line of a shop that was killed
		}
		if word == "placed" {
			j.placed = max(j.placed, order)
		} else {
			j.pays[order] = word
		}
	}
	return lines.Err()
}

// place notes that all orders below n are placed.
func (j *journal) place(n int) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.placed = n
	_, err := fmt.Fprintln(j.file, "placed", n)
	return err
}

// pay notes a word about a payment.
func (j *journal) pay(order int, word string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pays[order] = word
	_, err := fmt.Fprintln(j.file, word, order)
	return err
}

// about returns the last word about a payment, or "".
func (j *journal) about(order int) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.pays[order]
}

// placedCount returns how many orders are placed.
func (j *journal) placedCount() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.placed
}

// counts returns how many orders are placed and paid.
func (j *journal) counts() (placed, paid int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, word := range j.pays {
		if word == payDone {
			paid++
		}
	}
	return j.placed, paid
}

func (j *journal) close() error { return j.file.Close() }
