package main

import "regexp"

// marker is a pattern that good technical English seldom has.
type marker struct {
	name    string
	pattern *regexp.Regexp
}

var markers = []marker{
	{"what", regexp.MustCompile(`(?i)\bwhat\b`)},
	{"long name", regexp.MustCompile(`^Test\w{42,}: `)},
	{"opening", regexp.MustCompile(`(?:^|[.:;] )(?:What|So|Nor|Those|None|Whose|Of the|That of)\b`)},
	{"is how", regexp.MustCompile(`\bis how (?:many|much|long|often|far|late)\b`)},
	{"a for per", regexp.MustCompile(`\b(?:bytes?|B|ns|ms|times|one|(?:worker|goroutine|allocation|operation|request|message|timeout|stripe|line|timer)s?|ticks|bits|entries|writes?) an? (?:second|minute|tick|timer|timeout|worker|key|task|processor|bucket|entry|stripe|message|shard|level|page|loop|store|core)\b`)},
	{"own", regexp.MustCompile(`\bof (?:its|their|your|our) own\b`)},
	{"none", regexp.MustCompile(`\b(?:there is none|has none|if none|nothing (?:else|more|was|is)|none of them)\b`)},
	{"idiom", regexp.MustCompile(`\b(?:comes? due|came due|ha(?:s|ve|d) yet to|the likes of|as far as|by itself|goes on|went on|is about to|at a time|at once)\b`)},
}

// marks names the markers in a line of prose, once per occurrence.
func marks(text string) (names []string) {
	for _, m := range markers {
		for range m.pattern.FindAllStringIndex(text, -1) {
			names = append(names, m.name)
		}
	}
	return names
}

// idiom is a pattern that stands where a noun should be repeated, and its number per 10,000 words
// of the prose of the standard library (net/http, log/slog, sync, time, context, database/sql,
// encoding/json, and testing).
type idiom struct {
	pattern  *regexp.Regexp
	standard float64
}

var idioms = []idiom{
	{regexp.MustCompile(`(?i)\b(?:that|those) (?:of|in|for|from)\b`), 0.8},
	{regexp.MustCompile(`(?i)\b(?:none|another one|the other ones?|one that|ones? of those)\b`), 1.6},
	{regexp.MustCompile(`(?i)\b(?:anew|beside|by then|from then on|meanwhile|likewise|hereby)\b`), 0.3},
	{regexp.MustCompile(`(?i)\balso (?:if|when|while|from|an?)\b`), 0.2},
	{regexp.MustCompile(`(?i)\bwhose\b`), 1.6},
	{regexp.MustCompile(`(?i)\btherefore\b`), 0.6},
	{regexp.MustCompile(`, which\b`), 7.5},
}

// pronouns stand where a noun could be repeated. The standard library has 235 per 10,000 words.
var pronouns = regexp.MustCompile(`(?i)\b(?:it|its|they|them|their|this|these|those)\b`)

var word = regexp.MustCompile(`[A-Za-z][A-Za-z'-]*`)

// tally counts the words, the pronouns, and the idioms of a folder.
type tally struct {
	words    int
	pronouns int
	found    map[*regexp.Regexp]int
}

func (t *tally) add(text string) {
	if t.found == nil {
		t.found = map[*regexp.Regexp]int{}
	}
	t.words += len(word.FindAllStringIndex(text, -1))
	t.pronouns += len(pronouns.FindAllStringIndex(text, -1))
	for _, i := range idioms {
		t.found[i.pattern] += len(i.pattern.FindAllStringIndex(text, -1))
	}
}

// excess returns the number of idioms per 10,000 words above the standard library's.
func (t *tally) excess() (sum float64) {
	for _, i := range idioms {
		sum += max(0, 1e4*float64(t.found[i.pattern])/float64(max(1, t.words))-i.standard)
	}
	return sum
}
