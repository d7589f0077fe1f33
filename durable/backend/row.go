package backend

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
)

// State is the state of a row.
type State uint8

// The states of a row.
const (
	Pending State = iota // waits to be claimed
	Claimed              // fires soon or now; its Holder decides its outcome
)

// Row is one version of an entry as stored. Times are nanoseconds of the Unix epoch.
type Row struct {
	Key        string
	Generation uint64
	Due        int64
	NotAfter   int64  // latest time to fire, or 0. Begun says what it means with Every
	Payload    []byte // nil and empty are the same
	Attempt    int    // number of the next or current attempt, from 1
	Every      string // encoded recurrence, opaque to backends; "" for a one-shot
	Schedule   string // name of the schedule that a worker must know, or ""
	Origin     uint64 // generation that began the firing; retries keep it
	Nonce      uint64 // 64 random bits; with Origin, the ID of the firing
	Group      string // of the entry, or ""
	Headers    string // encoded headers, opaque to backends, or ""

	// Crashes counts the workers that lost their leases while they had claimed this version. After
	// the first of them, only those count that had Tried it.
	Crashes int
	// Tried is set in a claimed row with Crashes whose handler its worker was about to call.
	Tried bool

	// Last is the encoded outcome of the occurrence before, opaque to backends, or "".
	Last string

	State    State
	Holder   int64 // worker that leased or claimed the row, or 0
	Detached bool  // outside the main slot of its key
}

// KindOf returns the kind of the rows with a key: the key up to and including its first slash, or
// "" without a slash.
func KindOf(key string) string { return key[:strings.IndexByte(key, '/')+1] }

// FirstOfKinds returns a function that reports whether a row is the first of its kind and schedule.
func FirstOfKinds() func(r *Row) bool {
	seen := make(map[[2]string]bool)
	return func(r *Row) bool {
		class := [2]string{KindOf(r.Key), r.Schedule}
		first := !seen[class]
		seen[class] = true
		return first
	}
}

// Begun reports whether a claim of the occurrence r has ended before: r is then neither missed nor skipped, and
// stores no next occurrence. The claim of an occurrence detaches it, except the last occurrence of a series. The end of
// its claim gives the last one the NotAfter MaxInt64, which Move and Ensure keep. Earlier releases gave it an Attempt only.
func (r *Row) Begun() bool {
	return r.Detached || r.Every != "" && (r.NotAfter != 0 || r.Attempt > 1)
}

// Ref returns the name of r.
func (r Row) Ref() Ref { return Ref{r.Key, r.Generation} }

// Slot returns the slot of r: 0, or its generation if it is detached.
func (r Row) Slot() uint64 {
	if r.Detached {
		return r.Generation
	}
	return 0
}

// Ref names a row: its slot is 0 or Generation, and its generation is Generation.
type Ref struct {
	Key        string
	Generation uint64
}

// Dead is a dead letter. Its row keeps the generation of the failed attempt.
type Dead struct {
	Row
	Error   string
	GivenUp int64
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// MaxCrashes is the largest Crashes of a row.
const MaxCrashes = math.MaxInt16

// CrashesOf returns Crashes and Tried for a stored number, or 0 for a number out of range. No checksum
// covers it: a damaged number must not make an intact row a dead letter.
func CrashesOf(stored int64) (crashes int, tried bool) {
	switch {
	case stored < -MaxCrashes || stored > MaxCrashes:
		return 0, false
	case stored < 0:
		return int(-stored), true
	}
	return int(stored), false
}

// StoredCrashes returns the number that stands for Crashes and Tried: it is negative if Tried is set.
func (r *Row) StoredCrashes() int64 {
	if r.Tried {
		return -int64(r.Crashes)
	}
	return int64(r.Crashes)
}

// AdoptedBy returns the claimed row r as Adopt stores it.
func (r Row) AdoptedBy(worker int64) Row {
	if r.Crashes == 0 || r.Tried {
		r.Crashes = min(r.Crashes+1, MaxCrashes)
	}
	r.Holder, r.Tried = worker, false
	return r
}

// Checksum returns the checksum of r. Backends store it with the row. It covers every field
// except State, Holder, Detached, Crashes, Tried, and Last: these change without a new version.
// Releases before Group and Headers read a row that has either as damaged. Other rows have the
// checksum of those releases.
func (r *Row) Checksum() uint32 {
	tail := 0
	if r.Group != "" || r.Headers != "" {
		tail = 2*4 + len(r.Group) + len(r.Headers)
	}
	head := make([]byte, 0, 6*8+3*4+len(r.Key)+len(r.Every)+len(r.Schedule)+tail) // one allocation: crc32 lets it escape
	for _, v := range [...]uint64{
		r.Generation, uint64(r.Due), uint64(r.NotAfter), uint64(r.Attempt), r.Origin, r.Nonce,
	} {
		head = binary.LittleEndian.AppendUint64(head, v)
	}
	for _, part := range [...]string{r.Key, r.Every, r.Schedule} {
		head = appendPart(head, part)
	}
	if tail > 0 {
		head = appendPart(appendPart(head, r.Group), r.Headers)
	}
	return crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, r.Payload)
}

func appendPart(head []byte, part string) []byte {
	return append(binary.LittleEndian.AppendUint32(head, uint32(len(part))), part...)
}

// Verify returns a [*Damage] unless stored is the checksum of r. r was read from slot.
func (r *Row) Verify(slot uint64, stored uint32) error {
	if sum := r.Checksum(); sum != stored {
		return &Damage{Ref: r.Ref(), Slot: slot, sum: sum, stored: stored}
	}
	return nil
}

// Damage is the error of a damaged row or dead letter. It wraps [ErrDamaged].
type Damage struct {
	Ref                // as stored: key and generation may be the damaged parts
	Slot        uint64 // of a row, as stored
	sum, stored uint32
}

// Error names the row and both checksums.
func (d *Damage) Error() string {
	return fmt.Sprintf("%v: key %.64q, generation %d: checksum %08x (expected: %08x)", ErrDamaged, d.Key, d.Generation, d.sum, d.stored)
}

// Unwrap returns [ErrDamaged].
func (d *Damage) Unwrap() error { return ErrDamaged }
