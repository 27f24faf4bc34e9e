package schema

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// initialisms are written in capitals in Go names, as golint has it.
var initialisms = map[string]bool{
	"ACL": true, "API": true, "ASCII": true, "CPU": true, "CSS": true, "DNS": true, "EOF": true,
	"GUID": true, "HTML": true, "HTTP": true, "HTTPS": true, "ID": true, "IP": true, "JSON": true,
	"LHS": true, "QPS": true, "RAM": true, "RHS": true, "RPC": true, "SLA": true, "SMTP": true,
	"SQL": true, "SSH": true, "TCP": true, "TLS": true, "TTL": true, "UDP": true, "UI": true,
	"UID": true, "UUID": true, "URI": true, "URL": true, "UTF8": true, "VM": true, "XML": true,
	"XMPP": true, "XSRF": true, "XSS": true,
}

// split cuts a name into words: at everything that is no letter or digit, and
// at a change of case (bidSize, HTTPServer, userIDs).
func split(s string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, string(word))
			word = word[:0]
		}
	}
	runes := []rune(s)
	at := func(i int) rune {
		if i < 0 || i >= len(runes) {
			return ' '
		}
		return runes[i]
	}
	for i, r := range runes {
		if r < utf8.RuneSelf && !isAlnum(r) {
			flush()
			continue
		}
		prev, next := at(i-1), at(i+1)
		if unicode.IsUpper(r) {
			plural := next == 's' && !unicode.IsLower(at(i+2)) && unicode.IsUpper(prev)
			if unicode.IsLower(prev) || unicode.IsDigit(prev) || unicode.IsUpper(prev) && unicode.IsLower(next) && !plural {
				flush()
			}
		}
		word = append(word, r)
	}
	flush()
	return words
}

func isAlnum(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// escapeRune writes what an identifier cannot hold by its code: u00f6.
func escapeRune(r rune) string { return fmt.Sprintf("u%04x", r) }

// wireName returns the snake_case name of a property: ASCII, as FlatBuffers
// wants it.
func wireName(s string) string {
	words := split(s)
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte('_')
		}
		for _, r := range w {
			if r < utf8.RuneSelf {
				b.WriteRune(unicode.ToLower(r))
			} else {
				b.WriteString("_" + escapeRune(r) + "_")
			}
		}
	}
	if len(words) == 0 { // punctuation alone
		for _, r := range s {
			b.WriteString("_" + escapeRune(r) + "_")
		}
	}
	return leadingDigit(b.String(), "_")
}

func leadingDigit(s, prefix string) string {
	if s != "" && isDigit(s[0]) {
		return prefix + s
	}
	return s
}

// goName returns the exported Go name of a property, event or literal.
func goName(s string) string {
	words := split(s)
	if len(words) == 0 {
		for _, r := range s {
			words = append(words, escapeRune(r))
		}
	}
	name := join(words)
	if first, _ := utf8.DecodeRuneInString(name); !unicode.IsUpper(first) {
		return "X" + name // a digit, or a letter of a script without case
	}
	return name
}

// join writes words in camel case with Go's initialisms.
func join(words []string) string {
	var b strings.Builder
	last := byte(0)
	for _, w := range words {
		w = capital(w)
		if isDigit(last) && isDigit(w[0]) {
			b.WriteByte('_') // 1.5 and 15 stay two names
		}
		b.WriteString(w)
		last = w[len(w)-1]
	}
	return b.String()
}

func capital(w string) string {
	upper := strings.ToUpper(w)
	if initialisms[upper] {
		return upper
	}
	if root, ok := strings.CutSuffix(upper, "S"); ok && initialisms[root] {
		return root + "s"
	}
	var b strings.Builder
	for i, r := range w {
		switch {
		case r >= utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r):
			b.WriteString("U" + escapeRune(r)[1:]) // no identifier may hold it
		case i == 0:
			b.WriteRune(unicode.ToUpper(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// asciiName writes a Go name so that FlatBuffers takes it.
func asciiName(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			b.WriteString("_" + escapeRune(r) + "_")
		}
	}
	return b.String()
}
