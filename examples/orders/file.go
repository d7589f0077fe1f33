package main

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
)

// save moves the pending orders to a file. The file appears only once it is complete.
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

// load schedules the orders of a file, and checks overdue ones immediately. It renames the file
// before: after a kill, the next start must not check orders again that were paid since. A file
// that cannot be read keeps its name, and no order is scheduled.
func load(name string, pending *wheel) error {
	entries, err := read(name)
	if err != nil {
		return err
	}
	if err := os.Rename(name, name+".loaded"); err != nil {
		return err
	}
	for _, e := range entries {
		if err := pending.Set(e.Key, e.Value, e.Left()); err != nil {
			return err
		}
	}
	return nil
}

func read(name string) (entries []entry, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for decoder := gob.NewDecoder(bufio.NewReader(file)); ; {
		var e entry
		if err := decoder.Decode(&e); err == io.EOF {
			return entries, nil
		} else if err != nil {
			return nil, fmt.Errorf("loading %s: %w", name, err)
		}
		entries = append(entries, e)
	}
}
