package leak_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hashedwheel/hwt/leak"
)

func TestParseLevelTakesNamesInAnyCaseAndOrdinals(t *testing.T) {
	for text, want := range map[string]leak.Level{
		"disabled": leak.LevelDisabled, "DISABLED": leak.LevelDisabled, "0": leak.LevelDisabled,
		"simple": leak.LevelSimple, "Simple": leak.LevelSimple, "1": leak.LevelSimple,
		"advanced": leak.LevelAdvanced, "aDvAnCeD": leak.LevelAdvanced, "2": leak.LevelAdvanced,
		"paranoid": leak.LevelParanoid, " Paranoid\t": leak.LevelParanoid, "3": leak.LevelParanoid,
	} {
		got, err := leak.ParseLevel(text)
		assert.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
}

func TestParseLevelReturnsSimpleForAnUnknownName(t *testing.T) {
	for _, text := range []string{"", "off", "4", "-1", "01", "+1", "1.0", "simple,", "para noid", "Level(1)"} {
		got, err := leak.ParseLevel(text)
		assert.Equal(t, leak.LevelSimple, got, text)
		assert.ErrorContains(t, err, `"`+text+`"`)
		assert.ErrorContains(t, err, "disabled, simple, advanced, paranoid, or 0 to 3")
	}
}

func TestLevelsNameThemselves(t *testing.T) {
	assert.Equal(t, "disabled", leak.LevelDisabled.String())
	assert.Equal(t, "paranoid", leak.LevelParanoid.String())
	assert.Equal(t, "Level(-1)", leak.Level(-1).String())
	assert.Equal(t, "Level(4)", leak.Level(4).String())
}

func TestSetLevelReturnsThePreviousLevel(t *testing.T) {
	at(t, leak.LevelAdvanced)
	assert.Equal(t, leak.LevelAdvanced, leak.CurrentLevel())
	assert.Equal(t, leak.LevelAdvanced, leak.SetLevel(leak.LevelDisabled))
	assert.Equal(t, leak.LevelDisabled, leak.CurrentLevel())
}

func TestSetLevelTreatsAnInvalidLevelAsSimple(t *testing.T) {
	at(t, leak.LevelDisabled)
	leak.SetLevel(leak.Level(7))
	assert.Equal(t, leak.LevelSimple, leak.CurrentLevel())
	leak.SetLevel(leak.Level(-7))
	assert.Equal(t, leak.LevelSimple, leak.CurrentLevel())
}

func FuzzParseLevel(f *testing.F) {
	for _, text := range []string{"simple", "PARANOID", "0", "3", "4", "", " 2 ", "ſimple", "\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		level, err := leak.ParseLevel(text)
		if err != nil {
			assert.Equal(t, leak.LevelSimple, level)
			return
		}
		again, err := leak.ParseLevel(level.String())
		assert.NoError(t, err)
		assert.Equal(t, level, again)
		assert.Contains(t, []leak.Level{leak.LevelDisabled, leak.LevelSimple, leak.LevelAdvanced, leak.LevelParanoid}, level)
	})
}
