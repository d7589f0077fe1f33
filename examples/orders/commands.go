package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"slices"
	"strconv"
	"strings"
	"time"
)

// obey runs the commands of in until ctx or in ends, or until "quit".
func obey(ctx context.Context, pending *wheel, in io.Reader, console *log.Logger) {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(in); scanner.Scan() && ctx.Err() == nil; {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case line, ok := <-lines:
			if !ok || line == "quit" {
				return
			}
			if err := do(pending, line, console); err != nil {
				console.Print(err)
			}
		}
	}
}

var errUsage = errors.New("the commands are: pay ORDER, extend ORDER DURATION, list NUMBER, quit")

// do runs one command.
func do(pending *wheel, line string, console *log.Logger) (err error) {
	words := append(strings.Fields(line), "", "", "") // Missing words are empty.
	n, err := strconv.Atoi(words[1])
	if err != nil {
		return errUsage
	}
	known := true
	switch words[0] {
	case "pay":
		_, known = pending.GetAndDelete(n)
	case "extend":
		var d time.Duration
		if d, err = time.ParseDuration(words[2]); err == nil {
			known, err = pending.Move(n, d)
		}
	case "list":
		for _, e := range first(pending, n) {
			console.Printf("order %d is checked in %v", e.Key, e.Left().Round(time.Second))
		}
	default:
		err = errUsage
	}
	if err == nil && !known {
		err = fmt.Errorf("order %d is not pending", n)
	}
	return err
}

// first returns the n orders with the earliest checks.
func first(pending *wheel, n int) (list []entry) {
	for e := range pending.All() {
		i, _ := slices.BinarySearchFunc(list, e, func(a, b entry) int { return a.Due.Compare(b.Due) })
		if i < n {
			list = slices.Insert(list, i, e)
			list = list[:min(n, len(list))]
		}
	}
	return list
}
