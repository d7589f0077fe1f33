package jobs

import (
	"errors"
	"fmt"

	"github.com/mattn/go-shellwords"
)

// Split splits a command line into the command and its arguments, at blanks
// outside quotes. There is no shell: variables and patterns stay as they are, and
// an operator outside quotes, such as ";" or ">", is an error.
func Split(line string) ([]string, error) {
	parser := shellwords.NewParser()
	words, err := parser.Parse(line)
	switch {
	case err != nil:
		return nil, errors.New("a quote is not closed, or a parenthesis stands outside quotes")
	case parser.Position >= 0:
		return nil, fmt.Errorf("there is no shell that could interpret %q; quote it, or name a shell: sh -c '...'",
			string([]rune(line)[parser.Position:]))
	case len(words) == 0 || words[0] == "":
		return nil, errors.New("must name a command")
	}
	return words, nil
}
