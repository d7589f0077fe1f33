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
