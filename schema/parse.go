package schema

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxSize  = 8 << 20 // bytes of one file
	maxDepth = 1000    // nested JSON values
)

// parser reads JSON (RFC 8259) in document order with the place of every value.
// encoding/json cannot serve here: it loses places and keeps the last of two
// equal keys.
type parser struct {
	file      string
	data      []byte
	at        int
	line      int
	lineStart int
	problems  Errors
}

// parse returns the root of a JSON document and the problems found in it. The
// root is nil when the text is not JSON.
func parse(file string, data []byte) (*node, Errors) {
	p := &parser{file: file, data: data, line: 1}
	if len(data) > maxSize {
		p.fail(nil, fmt.Sprintf("the file has %d bytes", len(data)), fmt.Sprintf("split it; the limit is %d bytes", maxSize))
		return nil, p.problems
	}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) { // a BOM is an editor's habit, not content
		p.at, p.lineStart = 3, 3
	} else if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		p.fail(nil, "the file is UTF-16", "save it as UTF-8")
		return nil, p.problems
	}
	p.space()
	if p.at == len(p.data) {
		p.fail(nil, "the file is empty", `write {"package": …, "events": {…}}`)
		return nil, p.problems
	}
	root := p.value(nil, 0)
	if root == nil {
		return nil, p.problems
	}
	p.space()
	if p.at < len(p.data) {
		p.fail(nil, "text follows the JSON document", "remove it")
		return nil, p.problems
	}
	return root, p.problems
}

// fail reports a problem at the present byte, inside the node in.
func (p *parser) fail(in *node, found, fix string) {
	p.failAt(p.line, p.at-p.lineStart+1, in.pointer(), found, fix)
}

func (p *parser) failAt(line, col int, pointer, found, fix string) {
	if len(p.problems) >= maxProblems {
		return
	}
	pos := Pos{File: p.file, Line: line, Column: col, Pointer: pointer}
	p.problems = append(p.problems, Problem{Pos: pos, Found: found, Fix: fix})
}

func (p *parser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case '\n':
			p.line++
			p.lineStart = p.at + 1
		case ' ', '\t', '\r':
		default:
			return
		}
		p.at++
	}
}

// peek returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

// value reads one value into n (allocated when nil); nil means a syntax error
// was reported.
func (p *parser) value(n *node, depth int) *node {
	if n == nil {
		n = &node{}
	}
	n.line, n.col = p.line, p.at-p.lineStart+1
	if depth > maxDepth {
		p.fail(n, fmt.Sprintf("values are nested deeper than %d", maxDepth), "flatten the schema with $defs and $ref")
		return nil
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(n, depth)
	case c == '[':
		return p.array(n, depth)
	case c == '"':
		s, broken, ok := p.string(n)
		n.kind, n.text, n.broken = nodeString, s, broken
		return n.when(ok)
	case c == '-' || '0' <= c && c <= '9':
		n.kind = nodeNumber
		return n.when(p.number(n))
	case p.word("true"):
		n.kind, n.yes = nodeBool, true
		return n
	case p.word("false"):
		n.kind = nodeBool
		return n
	case p.word("null"):
		n.kind = nodeNull
		return n
	}
	p.unexpected(n, "a value")
	return nil
}

func (n *node) when(ok bool) *node {
	if ok {
		return n
	}
	return nil
}

func (p *parser) word(w string) bool {
	if !bytes.HasPrefix(p.data[p.at:], []byte(w)) {
		return false
	}
	p.at += len(w)
	return true
}

func (p *parser) unexpected(in *node, want string) {
	if p.at >= len(p.data) {
		p.fail(in, "the file ends where "+want+" should stand", "complete it")
		return
	}
	if p.data[p.at] == '/' {
		p.fail(in, "a comment", "remove it, JSON has none; \"$comment\" and \"description\" hold text")
		return
	}
	r, size := utf8.DecodeRune(p.data[p.at:])
	if r == utf8.RuneError && size == 1 {
		p.fail(in, "bytes that are not UTF-8", "save the file as UTF-8")
		return
	}
	p.fail(in, fmt.Sprintf("%q where %s should stand", r, want), "correct the JSON syntax")
}

func (p *parser) object(n *node, depth int) *node {
	n.kind = nodeObject
	seen := map[string]int{} // key → line
	p.at++
	for p.space(); p.peek() != '}'; p.space() {
		if len(n.members) > 0 {
			if p.peek() != ',' {
				p.unexpected(n, `"," or "}"`)
				return nil
			}
			p.at++
			p.space()
		}
		if p.peek() != '"' {
			p.unexpected(n, "a key in double quotes")
			return nil
		}
		m := member{line: p.line, col: p.at - p.lineStart + 1}
		var ok bool
		if m.key, m.broken, ok = p.string(n); !ok {
			return nil
		}
		m.value = &node{parent: n, key: m.key}
		if line, dup := seen[m.key]; dup {
			p.failAt(m.line, m.col, m.value.pointer(), fmt.Sprintf("the key %s stands twice, first in line %d", quote(m.key), line), "remove one of the two")
		} else {
			seen[m.key] = m.line
		}
		p.space()
		if p.peek() != ':' {
			p.unexpected(m.value, `":"`)
			return nil
		}
		p.at++
		p.space()
		if p.value(m.value, depth+1) == nil {
			return nil
		}
		n.members = append(n.members, m)
	}
	p.at++
	return n
}

func (p *parser) array(n *node, depth int) *node {
	n.kind = nodeArray
	p.at++
	for p.space(); p.peek() != ']'; p.space() {
		if len(n.items) > 0 {
			if p.peek() != ',' {
				p.unexpected(n, `"," or "]"`)
				return nil
			}
			p.at++
			p.space()
		}
		item := &node{parent: n, index: len(n.items)}
		if p.value(item, depth+1) == nil {
			return nil
		}
		n.items = append(n.items, item)
	}
	p.at++
	return n
}

// number scans -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (p *parser) number(n *node) bool {
	start := p.at
	if p.peek() == '-' {
		p.at++
	}
	lead := p.peek()
	count := p.digits()
	ok := count > 0 && (lead != '0' || count == 1)
	if ok && p.peek() == '.' {
		p.at++
		ok = p.digits() > 0
	}
	if ok && (p.peek() == 'e' || p.peek() == 'E') {
		p.at++
		if p.peek() == '+' || p.peek() == '-' {
			p.at++
		}
		ok = p.digits() > 0
	}
	n.text = string(p.data[start:p.at])
	if !ok {
		p.fail(n, fmt.Sprintf("%s is not a JSON number", quote(n.text)), "correct it")
	}
	return ok
}

func (p *parser) digits() int {
	start := p.at
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at - start
}

// string reads a string literal. broken tells of an unpaired surrogate, which
// JSON can write and UTF-8 cannot; it becomes U+FFFD.
func (p *parser) string(in *node) (s string, broken, ok bool) {
	p.at++
	var b []byte
	for {
		if p.at >= len(p.data) {
			p.unexpected(in, "the end of a string")
			return "", false, false
		}
		c := p.data[p.at]
		switch {
		case c == '"':
			p.at++
			return string(b), broken, true
		case c == '\\':
			r, ok := p.escape(in)
			if !ok {
				return "", false, false
			}
			broken = broken || r < 0
			b = utf8.AppendRune(b, r) // a negative rune is written as U+FFFD
		case c < ' ':
			p.fail(in, fmt.Sprintf("a control character (%#02x) inside a string", c), `write \n, \t or \u00XX`)
			return "", false, false
		default:
			r, size := utf8.DecodeRune(p.data[p.at:])
			if r == utf8.RuneError && size == 1 {
				p.unexpected(in, "text")
				return "", false, false
			}
			b = append(b, p.data[p.at:p.at+size]...)
			p.at += size
		}
	}
}

// escape reads one escape sequence. The rune is -1 for half of a surrogate pair.
func (p *parser) escape(in *node) (rune, bool) {
	const short = `"\/bfnrt`
	const meaning = "\"\\/\b\f\n\r\t"
	p.at++
	if i := bytes.IndexByte([]byte(short), p.peek()); i >= 0 && p.at < len(p.data) {
		p.at++
		return rune(meaning[i]), true
	}
	first, ok := p.unicode()
	if !ok {
		p.fail(in, "an unknown escape in a string", `write \\ for a backslash`)
		return 0, false
	}
	if !utf16.IsSurrogate(first) {
		return first, true
	}
	mark := p.at
	if p.peek() == '\\' {
		p.at++
		if second, ok := p.unicode(); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r, true
			}
		}
	}
	p.at = mark
	return -1, true
}

// unicode reads the u and the four hexadecimal digits of an escape.
func (p *parser) unicode() (rune, bool) {
	if p.peek() != 'u' || p.at+5 > len(p.data) {
		return 0, false
	}
	var r rune
	for _, c := range p.data[p.at+1 : p.at+5] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	p.at += 5
	return r, true
}
