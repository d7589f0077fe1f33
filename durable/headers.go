package durable

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

const maxHeadersSize = 8 << 10

// encodeHeaders returns the column Headers of a row: names and values in the order of the names,
// each after its length. Equal maps have equal encodings.
func encodeHeaders(headers map[string]string) (string, error) {
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name]
		if name == "" {
			return "", invalid(`header "" with the value %.32q (expected: a name of 1 byte or more)`, value)
		}
		text = appendText(appendText(text, name), value)
		if len(text) > maxHeadersSize {
			return "", invalid("headers that exceed %d bytes at header %.32q (expected: up to %d in total)", maxHeadersSize, name, maxHeadersSize)
		}
	}
	return string(text), nil
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

func decodeHeaders(text string) (headers map[string]string, err error) {
	if text == "" {
		return nil, nil
	}
	headers = make(map[string]string)
	for rest := []byte(text); len(rest) > 0; {
		var parts [2]string
		for i := range parts {
			n, size := binary.Uvarint(rest)
			if size <= 0 || n > uint64(len(rest)-size) {
				return nil, fmt.Errorf("%.64q (expected: lengths and texts)", text)
			}
			end := size + int(n)
			parts[i], rest = string(rest[size:end]), rest[end:]
		}
		headers[parts[0]] = parts[1]
	}
	return headers, nil
}
