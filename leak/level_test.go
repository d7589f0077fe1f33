package leak_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/leak"
)

func TestParseLevelTakesNamesInAnyCaseAndOrdinals(t *testing.T) {
	for text, want := range map[string]leak.Level{
		"disabled": leak.Disabled, "DISABLED": leak.Disabled, "0": leak.Disabled,
		"simple": leak.Simple, "Simple": leak.Simple, "1": leak.Simple,
		"advanced": leak.Advanced, "aDvAnCeD": leak.Advanced, "2": leak.Advanced,
		"paranoid": leak.Paranoid, " Paranoid\t": leak.Paranoid, "3": leak.Paranoid,
	} {
		got, err := leak.ParseLevel(text)
		assert.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
}

func TestParseLevelReturnsSimpleAndAnErrorForAnUnknownName(t *testing.T) {
	for _, text := range []string{"", "off", "4", "-1", "01", "+1", "1.0", "simple,", "para noid", "Level(1)"} {
		got, err := leak.ParseLevel(text)
		assert.Equal(t, leak.Simple, got, text)
		assert.ErrorContains(t, err, `"`+text+`"`)
		assert.ErrorContains(t, err, "disabled, simple, advanced, paranoid or 0 to 3")
	}
}

func TestLevelsNameThemselves(t *testing.T) {
	assert.Equal(t, "disabled", leak.Disabled.String())
	assert.Equal(t, "paranoid", leak.Paranoid.String())
	assert.Equal(t, "Level(-1)", leak.Level(-1).String())
	assert.Equal(t, "Level(4)", leak.Level(4).String())
}

func TestSetLevelReturnsThePreviousLevel(t *testing.T) {
	at(t, leak.Advanced)
	assert.Equal(t, leak.Advanced, leak.GetLevel())
	assert.Equal(t, leak.Advanced, leak.SetLevel(leak.Disabled))
	assert.Equal(t, leak.Disabled, leak.GetLevel())
}

func TestSetLevelTreatsAnInvalidLevelAsSimple(t *testing.T) {
	at(t, leak.Disabled)
	leak.SetLevel(leak.Level(7))
	assert.Equal(t, leak.Simple, leak.GetLevel())
	leak.SetLevel(leak.Level(-7))
	assert.Equal(t, leak.Simple, leak.GetLevel())
}

func FuzzParseLevel(f *testing.F) {
	for _, text := range []string{"simple", "PARANOID", "0", "3", "4", "", " 2 ", "ſimple", "\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		level, err := leak.ParseLevel(text)
		if err != nil {
			assert.Equal(t, leak.Simple, level)
			return
		}
		again, err := leak.ParseLevel(level.String())
		assert.NoError(t, err)
		assert.Equal(t, level, again)
		assert.Contains(t, []leak.Level{leak.Disabled, leak.Simple, leak.Advanced, leak.Paranoid}, level)
	})
}
