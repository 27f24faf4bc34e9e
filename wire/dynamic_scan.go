package wire

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// token is one JSON value or object key. Tokens stand in document order; the
// members of an object are key and value in turn.
type token struct {
	kind       byte // one of the tok constants
	escaped    bool // a string with escapes
	start, end int32
	next       int32 // index of the token after this value and all inside it
	n          int32 // members of an object, elements of an array
}

const (
	tokObject byte = '{'
	tokArray  byte = '['
	tokString byte = '"' // start and end exclude the quotes
	tokNumber byte = '0'
	tokTrue   byte = 't'
	tokFalse  byte = 'f'
	tokNull   byte = 'n'
)

// scanner checks the syntax of one JSON text (RFC 8259) and lists its tokens.
type scanner struct {
	src    []byte
	at     int
	tokens []token
}

// scan reads the whole text.
func (s *scanner) scan() *JSONError {
	if len(s.src) > MaxJSON {
		return jsonErrorf("the JSON text has %d bytes; at most %d are accepted", len(s.src), MaxJSON)
	}
	if err := s.value(0); err != nil {
		return err
	}
	if s.space(); s.at < len(s.src) {
		return s.unexpected("nothing more after the value")
	}
	return nil
}

func (s *scanner) space() {
	for s.at < len(s.src) {
		switch s.src[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// unexpected reports what stands at the present place.
func (s *scanner) unexpected(want string) *JSONError {
	if s.at >= len(s.src) {
		return jsonErrorf("the JSON text ends at byte %d; expected %s", s.at, want)
	}
	r, n := utf8.DecodeRune(s.src[s.at:])
	if r == utf8.RuneError && n == 1 {
		return jsonErrorf("unexpected byte %#x at byte %d; expected %s", s.src[s.at], s.at, want)
	}
	return jsonErrorf("unexpected %q at byte %d; expected %s", r, s.at, want)
}

func (s *scanner) push(t token) int {
	s.tokens = append(s.tokens, t)
	i := len(s.tokens) - 1
	s.tokens[i].next = int32(i + 1)
	return i
}

// close completes a container after its last element.
func (s *scanner) close(i, n int) {
	t := &s.tokens[i]
	t.end, t.next, t.n = int32(s.at), int32(len(s.tokens)), int32(n)
}

func (s *scanner) value(depth int) *JSONError {
	s.space()
	if s.at >= len(s.src) {
		return s.unexpected("a value")
	}
	switch c := s.src[s.at]; c {
	case '{', '[':
		if depth == maxNesting {
			return jsonErrorf("objects and arrays are nested deeper than %d", maxNesting)
		}
		if c == '{' {
			return s.object(depth + 1)
		}
		return s.array(depth + 1)
	case '"':
		return s.text()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	case 'N', 'I':
		return s.unexpected(`a value (JSON writes these numbers as the strings "NaN", "Infinity" and "-Infinity")`)
	default:
		if c == '-' || c >= '0' && c <= '9' {
			return s.number()
		}
		return s.unexpected("a value")
	}
}

func (s *scanner) word(w string) *JSONError {
	end := s.at + len(w)
	if end > len(s.src) || string(s.src[s.at:end]) != w {
		return s.unexpected("a value (" + w + "?)")
	}
	s.push(token{kind: w[0], start: int32(s.at), end: int32(end)})
	s.at = end
	return nil
}

func (s *scanner) array(depth int) *JSONError {
	i, n := s.push(token{kind: tokArray, start: int32(s.at)}), 0
	s.at++
	if s.space(); s.peek(']') {
		s.close(i, n)
		return nil
	}
	for {
		if err := s.value(depth); err != nil {
			return err.underIndex(n)
		}
		n++
		switch s.space(); {
		case s.peek(']'):
			s.close(i, n)
			return nil
		case !s.peek(','):
			return s.unexpected("',' or ']'")
		}
	}
}

func (s *scanner) object(depth int) *JSONError {
	i, n := s.push(token{kind: tokObject, start: int32(s.at)}), 0
	s.at++
	if s.space(); s.peek('}') {
		s.close(i, n)
		return nil
	}
	for {
		if s.space(); s.at >= len(s.src) || s.src[s.at] != '"' {
			return s.unexpected("a property name in double quotes")
		}
		key := len(s.tokens)
		if err := s.text(); err != nil {
			return err
		}
		if s.space(); !s.peek(':') {
			return s.unexpected("':'")
		}
		if err := s.value(depth); err != nil {
			return err.under(textOf(s.src, s.tokens[key]))
		}
		n++
		switch s.space(); {
		case s.peek('}'):
			s.close(i, n)
			return nil
		case !s.peek(','):
			return s.unexpected("',' or '}'")
		}
	}
}

// peek steps over c if it stands here.
func (s *scanner) peek(c byte) bool {
	if s.at < len(s.src) && s.src[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) text() *JSONError {
	s.at++
	start, escaped := s.at, false
	for ; s.at < len(s.src); s.at++ {
		switch c := s.src[s.at]; {
		case c == '"':
			s.push(token{kind: tokString, escaped: escaped, start: int32(start), end: int32(s.at)})
			s.at++
			return nil
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return err
			}
		case c < ' ':
			return s.unexpected(`an escape such as \n; control characters cannot stand in a string`)
		}
	}
	return s.unexpected("the closing '\"' of a string")
}

// escape checks one escape and stops at its last byte.
func (s *scanner) escape() *JSONError {
	s.at++
	if s.at >= len(s.src) {
		return s.unexpected("an escape")
	}
	switch s.src[s.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		for range 4 {
			if s.at++; s.at >= len(s.src) || hexValue(s.src[s.at]) < 0 {
				return s.unexpected(`four hexadecimal digits after \u`)
			}
		}
		return nil
	}
	return s.unexpected(`one of " \ / b f n r t u after \`)
}

func hexValue(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10
	}
	return -1
}

func (s *scanner) number() *JSONError {
	start := s.at
	s.peek('-')
	if s.peek('0') {
		if s.at < len(s.src) && s.src[s.at] >= '0' && s.src[s.at] <= '9' {
			return s.unexpected("a number without leading zeros")
		}
	} else if !s.digits() {
		return s.unexpected(`a digit (JSON writes infinity as the string "Infinity" or "-Infinity")`)
	}
	if s.peek('.') && !s.digits() {
		return s.unexpected("a digit")
	}
	if s.peek('e') || s.peek('E') {
		if !s.peek('+') {
			s.peek('-')
		}
		if !s.digits() {
			return s.unexpected("a digit")
		}
	}
	s.push(token{kind: tokNumber, start: int32(start), end: int32(s.at)})
	return nil
}

func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.src) && s.src[s.at] >= '0' && s.src[s.at] <= '9' {
		s.at++
	}
	return s.at > start
}

// textOf returns the value of a string token. A lone surrogate escape becomes
// U+FFFD; bytes that are no UTF-8 are left to AppendString.
func textOf(src []byte, t token) string {
	raw := string(src[t.start:t.end])
	if !t.escaped {
		return raw
	}
	var out strings.Builder
	out.Grow(len(raw))
	for len(raw) > 0 {
		i := strings.IndexByte(raw, '\\')
		if i < 0 {
			out.WriteString(raw)
			break
		}
		out.WriteString(raw[:i])
		c := raw[i+1]
		raw = raw[i+2:]
		switch c {
		case 'b':
			out.WriteByte('\b')
		case 'f':
			out.WriteByte('\f')
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 't':
			out.WriteByte('\t')
		case 'u':
			r := hexRune(raw)
			raw = raw[4:]
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if strings.HasPrefix(raw, `\u`) {
					low = hexRune(raw[2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					raw = raw[6:]
				}
			}
			out.WriteRune(r)
		default: // " \ /
			out.WriteByte(c)
		}
	}
	return out.String()
}

// hexRune reads the four digits that the scanner has checked.
func hexRune(s string) rune {
	return hexValue(s[0])<<12 | hexValue(s[1])<<8 | hexValue(s[2])<<4 | hexValue(s[3])
}
