package jobs

import (
	"errors"
	"strings"
)

// Words cuts a command line into the command and its arguments: at blanks,
// except within single or double quotes. A backslash takes the meaning from a
// quote, a blank or a backslash after it, except within single quotes;
// elsewhere it stands for itself. Nothing else has a meaning: no variables, no
// patterns, no redirections, since there is no shell.
func Words(line string) ([]string, error) {
	s := splitter{rest: line}
	for s.rest != "" {
		s.step()
	}
	if s.quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	s.endWord()
	return s.words, nil
}

// splitter is the state of Words.
type splitter struct {
	rest  string
	words []string
	word  strings.Builder
	open  bool // a word has begun; it may be empty, as in ""
	quote byte // the quote that is open, or 0
}

// step takes in one byte, or a backslash and what it escapes.
func (s *splitter) step() {
	c := s.rest[0]
	s.rest = s.rest[1:]
	switch {
	case s.quote != 0 && c == s.quote:
		s.quote = 0
	case s.quote == 0 && (c == '\'' || c == '"'):
		s.quote, s.open = c, true
	case s.quote == 0 && isBlank(c):
		s.endWord()
	case c == '\\' && s.quote != '\'' && s.escapes():
		s.add(s.rest[0])
		s.rest = s.rest[1:]
	default:
		s.add(c)
	}
}

// escapes reports whether the next byte is one that a backslash can escape.
func (s *splitter) escapes() bool {
	return s.rest != "" && (strings.IndexByte(`\'"`, s.rest[0]) >= 0 || isBlank(s.rest[0]))
}

// add appends c to the word.
func (s *splitter) add(c byte) {
	s.word.WriteByte(c)
	s.open = true
}

// endWord ends the word, if one has begun.
func (s *splitter) endWord() {
	if s.open {
		s.words = append(s.words, s.word.String())
		s.word.Reset()
		s.open = false
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
