package docs

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// matching returns a short text that a pattern matches; ok is false when the
// simple way does not find one.
func matching(re2 string) (text string, ok bool) {
	tree, err := syntax.Parse(re2, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	spell(&b, tree)
	re, err := regexp.Compile(re2)
	return b.String(), err == nil && re.MatchString(b.String())
}

// longest is how often an example repeats at most.
const longest = 64

func spell(b *strings.Builder, e *syntax.Regexp) {
	switch e.Op {
	case syntax.OpLiteral:
		b.WriteString(string(e.Rune))
	case syntax.OpCharClass:
		b.WriteRune(fromClass(e.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture, syntax.OpPlus:
		spell(b, e.Sub[0])
	case syntax.OpRepeat:
		for range min(e.Min, longest) {
			spell(b, e.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range e.Sub {
			spell(b, sub)
		}
	case syntax.OpAlternate:
		spell(b, e.Sub[0])
	}
}

// fromClass picks a letter or digit where the class has one. ranges are pairs.
func fromClass(ranges []rune) rune {
	for _, r := range "aA1" {
		for pair := range slices.Chunk(ranges, 2) {
			if pair[0] <= r && r <= pair[1] {
				return r
			}
		}
	}
	if len(ranges) == 0 {
		return 'a'
	}
	return ranges[0]
}
