package schema

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// translatePattern writes a pattern of ECMAScript (ECMA-262, with the flag u, as
// JSON Schema has them) in the syntax of RE2, which Go matches in linear time:
// what . \s and \v match, how code points are written. What RE2 cannot do
// (look around, back references) is an error. The pattern comes back for
// ECMAScript too, without the escapes that the flag u does not allow (\@).
func translatePattern(pattern string) (re2, ecma string, err error) {
	t := &translator{src: pattern}
	if err := t.pattern(); err != nil {
		return "", "", err
	}
	re2 = t.out.String()
	if _, err := regexp.Compile(re2); err != nil {
		var syntax interface{ Error() string } = err
		return "", "", fmt.Errorf("is no regular expression that nova can check (%s)", clip(strings.TrimPrefix(syntax.Error(), "error parsing regexp: ")))
	}
	return re2, t.ecma.String() + pattern[t.kept:], nil
}

const (
	ecmaSpace = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	// any but the line terminators of ECMAScript
	ecmaDot = `[^\n\r\x{2028}\x{2029}]`
)

type translator struct {
	src string
	at  int
	out strings.Builder

	ecma strings.Builder // the pattern for ECMAScript as far as kept
	kept int

	asserts bool // the last part was a place, which cannot be repeated
}

func (t *translator) rest() string { return t.src[t.at:] }

func (t *translator) pattern() error {
	for t.at < len(t.src) {
		if last := t.at - 1; last >= 0 && strings.IndexByte("*+?{", t.src[t.at]) >= 0 && t.asserts {
			return errors.New("repeats a place (^, $ or \\b)")
		}
		t.asserts = false
		switch c := t.src[t.at]; c {
		case '^', '$':
			t.asserts = true
			t.out.WriteByte(c)
			t.at++
		case '.':
			t.out.WriteString(ecmaDot)
			t.at++
		case '[':
			if err := t.class(); err != nil {
				return err
			}
		case '\\':
			t.asserts = strings.HasPrefix(t.rest(), `\b`) || strings.HasPrefix(t.rest(), `\B`)
			s, err := t.escape(false)
			if err != nil {
				return err
			}
			t.out.WriteString(s)
		case '(':
			if err := t.group(); err != nil {
				return err
			}
		case '{':
			if err := t.repeat(); err != nil {
				return err
			}
		case '}', ']':
			return fmt.Errorf("has a lone %q", string(c))
		default:
			r, n := utf8.DecodeRuneInString(t.rest())
			t.out.WriteRune(r)
			t.at += n
		}
	}
	return nil
}

func (t *translator) group() error {
	rest := t.rest()
	switch {
	case strings.HasPrefix(rest, "(?!)"): // TypeBox writes never so
		t.out.WriteString(`[^\x{0}-\x{10ffff}]`)
		t.at += 4
	case strings.HasPrefix(rest, "(?="), strings.HasPrefix(rest, "(?!"):
		return errors.New("looks ahead, which Go cannot match")
	case strings.HasPrefix(rest, "(?<="), strings.HasPrefix(rest, "(?<!"):
		return errors.New("looks behind, which Go cannot match")
	case strings.HasPrefix(rest, "(?:"):
		t.out.WriteString("(?:")
		t.at += 3
	case strings.HasPrefix(rest, "(?<"):
		end := strings.IndexByte(rest, '>')
		if end < 0 {
			return errors.New("has a group name without an end")
		}
		t.out.WriteString("(") // the name is of no use to a check
		t.at += end + 1
	case strings.HasPrefix(rest, "(?"):
		return errors.New("has a group of an unknown kind")
	default:
		t.out.WriteByte('(')
		t.at++
	}
	return nil
}

var repeats = regexp.MustCompile(`^\{(\d+)(,(\d*))?\}`)

func (t *translator) repeat() error {
	m := repeats.FindStringSubmatch(t.rest())
	if m == nil {
		return errors.New("has a lone \"{\"")
	}
	for _, text := range []string{m[1], m[3]} {
		if n, err := strconv.Atoi(text); text != "" && (err != nil || n > 1000) {
			return errors.New("repeats more than 1000 times, which Go cannot match")
		}
	}
	t.out.WriteString(m[0])
	t.at += len(m[0])
	return nil
}

// class writes a set of characters.
func (t *translator) class() error {
	t.at++
	negated := strings.HasPrefix(t.rest(), "^")
	if negated {
		t.at++
	}
	if strings.HasPrefix(t.rest(), "]") { // [] matches nothing, [^] everything
		t.at++
		t.out.WriteString(map[bool]string{true: `[\x{0}-\x{10ffff}]`, false: `[^\x{0}-\x{10ffff}]`}[negated])
		return nil
	}
	t.out.WriteString(map[bool]string{true: "[^", false: "["}[negated])
	for {
		if t.at >= len(t.src) {
			return errors.New("has a set without an end")
		}
		switch c := t.src[t.at]; c {
		case ']':
			t.at++
			t.out.WriteByte(']')
			return nil
		case '\\':
			set := len(t.rest()) > 1 && strings.IndexByte("dDwWspP", t.rest()[1]) >= 0
			if set && strings.HasSuffix(t.src[:t.at], "-") && !strings.HasSuffix(t.src[:t.at], "[-") && !strings.HasSuffix(t.src[:t.at], "[^-") {
				return errors.New("has a range that ends with a set of characters")
			}
			s, err := t.escape(true)
			if err != nil {
				return err
			}
			if set && strings.HasPrefix(t.rest(), "-") && !strings.HasPrefix(t.rest(), "-]") {
				return errors.New("has a range that begins with a set of characters")
			}
			t.out.WriteString(s)
		case '[', '&', '~', '^':
			t.out.WriteString(`\` + string(c))
			t.at++
		default:
			r, n := utf8.DecodeRuneInString(t.rest())
			t.out.WriteRune(r)
			t.at += n
		}
	}
}

// escape reads what follows a backslash.
func (t *translator) escape(inClass bool) (string, error) {
	rest := t.rest()[1:]
	if rest == "" {
		return "", errors.New("ends with a backslash")
	}
	c := rest[0]
	t.at += 2
	switch c {
	case 'd', 'D', 'w', 'W', 't', 'n', 'v', 'f', 'r':
		return `\` + string(c), nil
	case 's':
		if inClass {
			return ecmaSpace, nil
		}
		return "[" + ecmaSpace + "]", nil
	case 'S':
		if inClass {
			return "", errors.New(`has \S inside a set; write the set without it`)
		}
		return "[^" + ecmaSpace + "]", nil
	case 'b', 'B':
		if inClass && c == 'b' {
			return `\x08`, nil
		}
		if inClass {
			return "", errors.New(`has \B inside a set`)
		}
		return `\` + string(c), nil
	case '0':
		if len(rest) > 1 && isDigit(rest[1]) {
			return "", errors.New("has an octal escape")
		}
		return `\x{0}`, nil
	case 'k':
		return "", errors.New("refers back to a group, which Go cannot match")
	case 'c':
		if len(rest) > 1 && (rest[1]|0x20) >= 'a' && (rest[1]|0x20) <= 'z' {
			t.at++
			return fmt.Sprintf(`\x{%x}`, rest[1]&31), nil
		}
	case 'x', 'u':
		return t.codePoint(rest)
	case 'p', 'P':
		return t.property(rest)
	}
	switch {
	case c >= '1' && c <= '9':
		return "", errors.New("refers back to a group, which Go cannot match")
	case strings.IndexByte(`^$\.*+?()[]{}|/`, c) >= 0, c == '-' && inClass:
		return `\` + string(c), nil
	}
	if c > ' ' && c < utf8.RuneSelf && !isAlnum(rune(c)) || c == ' ' { // an escape that says nothing
		t.ecma.WriteString(t.src[t.kept : t.at-2])
		t.kept = t.at - 1
		return regexp.QuoteMeta(string(c)), nil
	}
	return "", fmt.Errorf("has the unknown escape %s", strconv.Quote(`\`+string(rest[:1])))
}

// codePoint reads \xHH, \uHHHH, pairs of those, and \u{…}.
func (t *translator) codePoint(rest string) (string, error) {
	hex := func(s string) (int64, bool) {
		n, err := strconv.ParseInt(s, 16, 32)
		return n, err == nil && !strings.ContainsAny(s, "+-_")
	}
	if rest[0] == 'x' && len(rest) >= 3 {
		if n, ok := hex(rest[1:3]); ok {
			t.at += 2
			return fmt.Sprintf(`\x{%x}`, n), nil
		}
	}
	if end := strings.IndexByte(rest, '}'); strings.HasPrefix(rest, "u{") && end > 2 {
		if n, ok := hex(rest[2:end]); ok && n <= utf8.MaxRune && !surrogate(n) {
			t.at += end
			return fmt.Sprintf(`\x{%x}`, n), nil
		}
	} else if rest[0] == 'u' && len(rest) >= 5 {
		high, ok := hex(rest[1:5])
		if ok && !surrogate(high) {
			t.at += 4
			return fmt.Sprintf(`\x{%x}`, high), nil
		}
		if ok && high < 0xDC00 && len(rest) >= 11 && rest[5:7] == `\u` {
			if low, ok := hex(rest[7:11]); ok && low >= 0xDC00 && low < 0xE000 {
				t.at += 10
				return fmt.Sprintf(`\x{%x}`, (high-0xD800)<<10+(low-0xDC00)+0x10000), nil
			}
		}
	}
	return "", errors.New("has an escape of a code point that is none")
}

func surrogate(n int64) bool { return n >= 0xD800 && n < 0xE000 }

// property reads \p{…}: general categories by their short names, scripts.
func (t *translator) property(rest string) (string, error) {
	end := strings.IndexByte(rest, '}')
	if len(rest) < 2 || rest[1] != '{' || end < 0 {
		return "", errors.New(`has \p without a name`)
	}
	name := rest[2:end]
	if _, value, ok := strings.Cut(name, "="); ok {
		name = value
	}
	if _, err := regexp.Compile(`\p{` + name + `}`); err != nil || name == "Any" {
		return "", fmt.Errorf("has the property %s, which Go does not know", strconv.Quote(clip(rest[2:end])))
	}
	t.at += end
	return `\` + rest[:1] + `{` + name + `}`, nil
}
