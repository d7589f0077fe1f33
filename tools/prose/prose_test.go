package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestMarksAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"what waits is gone":                        "what",
		"So it ends. Nor does it wait.":             "opening opening",
		"n is how many there are":                   "is how",
		"16 bits a bucket":                          "a for per",
		"a goroutine of its own":                    "own",
		"nothing is lost":                           "none",
		"a timeout that comes due at once":          "idiom idiom",
		"Pending timeouts expire at their tick.":    "",
		"somewhat late, and so it fires; 8 bytes.":  "",
		testName("TestWhatIsDueRuns"):               "what opening",
		testName("Test" + strings.Repeat("Aa", 21)): "long name",
		testName("Test" + strings.Repeat("A", 41)):  "",
	} {
		if got := strings.Join(marks(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestIdiomsAreCountedPerTenThousandWords(t *testing.T) {
	var plain, odd tally
	for range 100 {
		plain.add("The worker drains the rest of the intake after the tick, because it is late.")
		odd.add("The worker, which is late, drains those of the intake meanwhile.")
	}
	if plain.excess() != 0 || plain.words != 1500 || plain.pronouns != 100 {
		t.Errorf("%v and %d pronouns of %d words, want 0 and 100 of 1500", plain.excess(), plain.pronouns, plain.words)
	}
	if got := int(odd.excess()); got < 2700 || got > 2730 { // three in eleven words
		t.Errorf("%d, want about 2718", got)
	}
}

func TestCommentsMessagesAndMarkdownAreRead(t *testing.T) {
	source := "package a // one\n\n//go:embed x\n/* two\nthree */\nvar s = \"it has four words\"\nvar t = `short`\n"
	test := "package a\n\nfunc TestItEnds() {}\n\nfunc Test() {}\n\nfunc newTimer() {}\n"
	var got []string
	for _, l := range slices.Concat(
		readGo("a/b/c.go", []byte(source)), readGo("a/b/c_test.go", []byte(test)),
		readMarkdown("d.md", "Text\n\n```\ncode\n```\nmore\n"),
	) {
		got = append(got, l.folder+": "+l.text)
	}
	want := []string{"a: one", "a: /* two", "a: three */", "a: it has four words", "a_test: TestItEnds: It ends", ".: Text", ".: more"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// retired are words that the glossary replaces, and the folders where they keep another
// meaning.
var retired = []struct {
	word, use string
	except    []string
}{
	{"settle", "drain, store, or end", nil},
	{"settles", "drain, store, or end", nil},
	{"settled", "drained, stored, or ended", nil},
	{"spoke", "bucket", nil},
	{"mended", "fixed", nil},
	{"shard", "stripe", []string{"idle", "durable", "runtimetimer", "docs", "examples", "bench", "tools", "inspect", "metrics", "internal/inspection", "CHANGELOG.md"}},
}

// maxRetired is the number of retired words that are allowed.
const maxRetired = 0

// TestRetiredWordsStayAway looks at identifiers, prose and tests alike: the glossary in
// CONTRIBUTING.md has the words to use.
func TestRetiredWordsStayAway(t *testing.T) {
	found := 0
	var patterns []*regexp.Regexp
	for _, r := range retired { // in identifiers, a word begins at a capital letter
		capital := strings.ToUpper(r.word[:1]) + r.word[1:]
		patterns = append(patterns, regexp.MustCompile(`\b`+r.word+`(?:[A-Z_]|\b)|(?:\b|[a-z])`+capital+`(?:[A-Z_]|\b)`))
	}
	err := walk(filepath.Join("..", ".."), func(name string, text []byte) {
		if strings.HasPrefix(name, "tools/prose/") || name == "CONTRIBUTING.md" {
			return
		}
		for i, r := range retired {
			if slices.ContainsFunc(r.except, func(folder string) bool { return strings.HasPrefix(name, folder) }) {
				continue
			}
			for number, l := range strings.Split(string(text), "\n") {
				if n := len(patterns[i].FindAllString(l, -1)); n > 0 {
					found += n
					t.Logf("%s:%d: %q: say %s", name, number+1, r.word, r.use)
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if found > maxRetired {
		t.Errorf("%d retired words, at most %d", found, maxRetired)
	}
}
