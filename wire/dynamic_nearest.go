package wire

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// nearest returns the name closest to the one given, "" when none is close
// enough to be what was meant.
func nearest(name string, known []string) string {
	best, distance := "", len(name)/2+1
	if len(name) > 64 { // a name is at most 64 bytes; longer text is no misspelling
		return ""
	}
	for _, k := range known {
		if d := edits(strings.ToLower(name), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// edits is the Levenshtein distance in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// maxShown is how much of a value an error message repeats, in bytes.
const maxShown = 40

// shorten cuts a text for an error message, never inside a character.
func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	cut := maxShown
	for cut > maxShown-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

func quote(s string) string { return strconv.Quote(shorten(s)) }

// maxListed is how many names an error message lists.
const maxListed = 30

// list writes quoted names, the last with "…" when there are too many.
func list(names []string) string {
	var out strings.Builder
	for i, n := range names {
		if i > 0 {
			out.WriteString(", ")
		}
		if i == maxListed {
			out.WriteString("… (" + strconv.Itoa(len(names)-i) + " more)")
			break
		}
		out.WriteString(quote(n))
	}
	return out.String()
}
