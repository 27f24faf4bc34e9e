package schema

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxExcerpt bounds the part of a line that is shown, in characters before and
// behind the place.
const maxExcerpt = 60

// excerpts gives every problem of one file its source line with a caret below.
func excerpts(problems []Problem, file string, data []byte) {
	var lines []string
	for i := range problems {
		p := &problems[i]
		if p.Pos.File != file || p.Pos.Line < 1 {
			continue
		}
		if lines == nil {
			lines = strings.Split(string(data), "\n")
		}
		if p.Pos.Line <= len(lines) {
			p.Excerpt = excerpt(lines[p.Pos.Line-1], p.Pos.Column)
		}
	}
}

// Excerpted gives the problems of one file their excerpts. [Read] and [ReadLock]
// have done so for theirs; it is for places outside of the document.
func (e Errors) Excerpted(file string, data []byte) { excerpts(e, file, data) }

// excerpt cuts the line around a column, which counts bytes from 1, and marks it.
func excerpt(line string, column int) string {
	line = strings.TrimSuffix(line, "\r")
	at := min(max(column-1, 0), len(line))
	// A line can be a whole document: look at what can be shown only.
	from, to := max(0, at-4*maxExcerpt-4), min(len(line), at+4*maxExcerpt+4)
	before, cutBefore := last(plainText(line[from:at]), maxExcerpt)
	behind, cutBehind := first(plainText(line[at:to]), maxExcerpt)
	if cutBefore {
		before = "…" + before
	} else {
		trimmed := strings.TrimLeft(before, " ")
		before = trimmed
	}
	if cutBehind {
		behind += "…"
	}
	return before + behind + "\n" + strings.Repeat(" ", utf8.RuneCountInString(before)) + "^"
}

// plainText replaces what would move the caret or hide text.
func plainText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

func last(s string, n int) (string, bool) {
	runes := []rune(s)
	if len(runes) <= n {
		return s, false
	}
	return string(runes[len(runes)-n:]), true
}

func first(s string, n int) (string, bool) {
	for i := range s {
		if n == 0 {
			return s[:i], true
		}
		n--
	}
	return s, false
}
