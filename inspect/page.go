package inspect

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
)

var (
	//go:embed assets/page.html
	pageHTML []byte

	//go:embed assets/page.css
	pageCSS []byte

	//go:embed assets/page.js
	pageJS []byte
)

// page holds the document with its style and script, and the policy that allows only that style
// and that script. Immutable.
var page = struct {
	html   []byte
	policy string
}{
	html: bytes.ReplaceAll(bytes.ReplaceAll(pageHTML, []byte("/*style*/"), pageCSS), []byte("/*script*/"), pageJS),
	policy: "default-src 'none'; img-src data:; connect-src 'self'; style-src " + hashOf(pageCSS) + "; script-src " + hashOf(pageJS) +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

// hashOf returns the policy's source expression for an inline element with this text.
func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
