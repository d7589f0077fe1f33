package results

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFieldsAreReadWithoutTheirSpace(t *testing.T) {
	text := "Architecture:        aarch64\nmodel name\t: one\nModel name:  Neoverse-N1 \nModel name: another\n"
	assert.Equal(t, "Neoverse-N1", fieldOf(text, "Model name"))
	assert.Equal(t, "one", fieldOf(text, "model name"))
	assert.Empty(t, fieldOf(text, "name"))
	assert.Empty(t, fieldOf("", "name"))
}
