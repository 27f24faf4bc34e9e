package wire

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
)

// wants says in words what JSON a field takes.
func (l *Layout) wants(f *Field) string { return l.wantsAt(f, 0) }

// maxWords bounds how deep wants describes maps of maps and the like; a layout
// of a stranger may hold itself.
const maxWords = 4

func (l *Layout) wantsAt(f *Field, depth int) string {
	if depth > maxWords {
		return "…"
	}
	if f.Map {
		t := &l.Tables[f.Ref]
		return "an object, each value " + l.wantsAt(&t.Fields[len(t.Fields)-1], depth+1)
	}
	if f.Vector {
		return "an array, each element " + l.wantsOneAt(f, depth)
	}
	return l.wantsOneAt(f, depth)
}

// wantsOne says what a field, or each element of a vector, takes.
func (l *Layout) wantsOne(f *Field) string { return l.wantsOneAt(f, 0) }

func (l *Layout) wantsOneAt(f *Field, depth int) string {
	switch f.Kind {
	case Bool:
		return "true or false"
	case Int64:
		return "a whole number"
	case Float64, Float32:
		return "a number"
	case Enum:
		return "one of " + list(l.Enums[f.Ref].literals())
	case String:
		return "a string"
	case Bytes:
		return "a base64 string"
	case Struct:
		if t := &l.Tables[f.Ref]; t.Box {
			return l.wantsAt(&t.Fields[len(t.Fields)-1], depth+1)
		}
		return "an object (" + l.Tables[f.Ref].Name + ")"
	case Union:
		return "an object (" + l.Unions[f.Ref].Name + ")"
	}
	low, high := narrowRange(f.Kind)
	return "a whole number from " + low + " to " + high
}

// wrong reports a value of another type.
func (e *jsonEncoder) wrong(want string, at int) *JSONError {
	t := e.tokens[at]
	found := ""
	switch t.kind {
	case tokObject:
		found = "an object"
	case tokArray:
		found = "an array"
	case tokString:
		found = "the string " + quote(textOf(e.src, t))
	case tokNumber:
		found = "the number " + shorten(string(e.src[t.start:t.end]))
	case tokNull:
		found = "null"
	default:
		found = string(e.src[t.start:t.end])
	}
	return jsonErrorf("found %s; write %s", found, want)
}

func (e *jsonEncoder) bool(f *Field, at int) (bool, *JSONError) {
	switch e.tokens[at].kind {
	case tokTrue:
		return true, nil
	case tokFalse:
		return false, nil
	}
	return false, e.wrong(e.layout.wantsOne(f), at)
}

func (e *jsonEncoder) float64(f *Field, at int) (float64, *JSONError) {
	t := e.tokens[at]
	text := string(e.src[t.start:t.end])
	switch {
	case t.kind == tokNumber:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, jsonErrorf("%s is outside the range of a double; write a number of magnitude up to 1.8e308, or \"Infinity\"", shorten(text))
		}
		return v, nil
	case t.kind != tokString:
	case text == "NaN":
		return math.Float64frombits(0x7FF8000000000000), nil // the NaN of JavaScript
	case text == "Infinity":
		return math.Inf(1), nil
	case text == "-Infinity":
		return math.Inf(-1), nil
	}
	return 0, e.wrong(e.layout.wantsOne(f)+` (not in quotes, only "NaN", "Infinity" and "-Infinity" are)`, at)
}

func (e *jsonEncoder) int64(f *Field, at int) (int64, *JSONError) {
	t := e.tokens[at]
	text := string(e.src[t.start:t.end])
	if t.kind != tokNumber && (t.kind != tokString || !wholeNumber(text)) {
		return 0, e.wrong(e.layout.wantsOne(f), at)
	}
	v, err := parseInt64(text)
	if err != nil {
		return 0, err
	}
	return v, nil
}

// wholeNumber reports whether s is -?(0|[1-9][0-9]*).
func wholeNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	if s == "" || s[0] == '0' && len(s) > 1 {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}

// parseInt64 reads a JSON number that is exactly an int64: 12, 12.0 and 1.2e1
// are the same.
func parseInt64(text string) (int64, *JSONError) {
	n, negative, fits, err := parseWhole(text)
	switch {
	case err != nil:
		return 0, err
	case !fits:
	case negative && n <= 1<<63:
		return -int64(n), nil
	case !negative && n < 1<<63:
		return int64(n), nil
	}
	return 0, jsonErrorf("%s is outside the range of int64; write a whole number between -9223372036854775808 and 9223372036854775807", shorten(text))
}

// parseWhole reads a JSON number that is a whole one; fits tells whether its
// magnitude is one of 64 bits.
func parseWhole(text string) (whole uint64, negative, fits bool, err *JSONError) {
	s, negative := strings.CutPrefix(text, "-")
	exponent := 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		// An exponent that does not fit is as good as a huge one. It leaves room
		// to count digits in an int of 32 bits.
		n, err := strconv.ParseInt(s[i+1:], 10, 32)
		if err != nil && n == 0 {
			n = math.MaxInt32
		}
		exponent, s = int(min(max(n, -1<<30), 1<<30)), s[:i]
	}
	if whole, fraction, ok := strings.Cut(s, "."); ok {
		exponent -= len(fraction)
		s = whole + fraction
	}
	digits := strings.TrimRight(s, "0")
	exponent += len(s) - len(digits)
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return 0, negative, true, nil
	}
	if exponent < 0 {
		return 0, negative, false, jsonErrorf("%s has a fraction; write a whole number", shorten(text))
	}
	if len(digits)+exponent <= 20 {
		if n, err := strconv.ParseUint(digits+strings.Repeat("0", exponent), 10, 64); err == nil {
			return n, negative, true, nil
		}
	}
	return 0, negative, false, nil
}

func (e *jsonEncoder) enum(f *Field, at int) (int32, *JSONError) {
	t := e.tokens[at]
	if t.kind != tokString {
		return 0, e.wrong(e.layout.wantsOne(f), at)
	}
	literal, enum := textOf(e.src, t), &e.layout.Enums[f.Ref]
	if n, ok := enum.number(literal); ok {
		return n, nil
	}
	if digits, ok := strings.CutPrefix(literal, unknownPrefix); ok {
		if n, err := strconv.ParseInt(digits, 10, 32); err == nil && strconv.FormatInt(n, 10) == digits {
			return int32(n), nil
		}
	}
	return 0, e.wrong(e.layout.wantsOne(f), at)
}

// bytes reads base64 (RFC 4648) in the standard or the URL-safe alphabet.
func (e *jsonEncoder) bytes(f *Field, at int) ([]byte, *JSONError) {
	t := e.tokens[at]
	if t.kind != tokString {
		return nil, e.wrong(e.layout.wantsOne(f), at)
	}
	text := textOf(e.src, t)
	alphabet := base64.RawStdEncoding
	if strings.ContainsAny(text, "-_") {
		alphabet = base64.RawURLEncoding
	}
	bare := strings.TrimRight(text, "=")
	if padding := len(text) - len(bare); padding > 2 || padding > 0 && len(text)%4 != 0 || strings.ContainsAny(bare, "\r\n") {
		return nil, e.wrong("base64 as of RFC 4648, padded or not, without line breaks", at)
	}
	v, err := alphabet.Strict().DecodeString(bare)
	if err != nil {
		return nil, e.wrong("base64 as of RFC 4648, padded or not", at)
	}
	return v, nil
}
