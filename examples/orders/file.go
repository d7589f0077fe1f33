package main

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
)

// save moves the pending orders to a file, which appears only once it is complete.
func save(name string, pending *wheel) error {
	file, err := os.Create(name + ".new")
	if err != nil {
		return err
	}
	buffer := bufio.NewWriter(file)
	encoder := gob.NewEncoder(buffer)
	drained := pending.Drain(func(e entry) {
		if err == nil {
			err = encoder.Encode(e)
		}
	})
	if err := errors.Join(err, drained, buffer.Flush(), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// load schedules the orders of a file, and checks overdue ones immediately. It then renames
// the file: after a kill, the next start must not check orders again that were paid meanwhile.
func load(name string, pending *wheel) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	for decoder := gob.NewDecoder(bufio.NewReader(file)); err == nil; {
		var e entry
		if err = decoder.Decode(&e); err == nil {
			err = pending.Set(e.Key, e.Value, e.Left())
		}
	}
	if err != io.EOF {
		return fmt.Errorf("loading %s: %w", name, err)
	}
	return os.Rename(name, name+".loaded")
}
