package golden

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ignex/nova/wire"
)

// JSON writes v as the JSON of the HTTP API and the command: an absent optional
// field is left out, an absent nullable one null; int64 beyond ±(2^53−1) and
// bigint are strings; bytes are base64; NaN and infinities are strings; an enum
// number that has no literal is "unknown:7".
func JSON(l *wire.Layout, table int, v Value) []byte {
	var b bytes.Buffer
	writeTable(&b, l, table, v)
	return b.Bytes()
}

func writeTable(b *bytes.Buffer, l *wire.Layout, table int, v Value) {
	b.WriteByte('{')
	first := true
	for i := range l.Tables[table].Fields {
		f := &l.Tables[table].Fields[i]
		x, ok := v[f.Name]
		if f.Deprecated || !ok && f.Presence != wire.Nullable {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		writeText(b, f.JSON)
		b.WriteByte(':')
		switch list, isList := x.([]any); {
		case !ok:
			b.WriteString("null")
		case isList:
			b.WriteByte('[')
			for i, e := range list {
				if i > 0 {
					b.WriteByte(',')
				}
				writeOne(b, l, f, e)
			}
			b.WriteByte(']')
		default:
			writeOne(b, l, f, x)
		}
	}
	b.WriteByte('}')
}

func writeText(b *bytes.Buffer, s string) {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	b.Write(text)
}

func writeOne(b *bytes.Buffer, l *wire.Layout, f *wire.Field, x any) {
	switch x := x.(type) {
	case bool:
		fmt.Fprint(b, x)
	case int64:
		if f.BigInt || x > 1<<53-1 || x < -(1<<53-1) {
			fmt.Fprintf(b, "%q", strconv.FormatInt(x, 10))
		} else {
			fmt.Fprint(b, x)
		}
	case float64:
		switch {
		case math.IsNaN(x):
			b.WriteString(`"NaN"`)
		case math.IsInf(x, 0):
			b.WriteString(map[bool]string{true: `"Infinity"`, false: `"-Infinity"`}[x > 0])
		default:
			b.WriteString(strconv.FormatFloat(x, 'g', -1, 64))
		}
	case int32:
		writeText(b, literal(&l.Enums[f.Ref], x))
	case string:
		writeText(b, x)
	case []byte:
		writeText(b, base64.StdEncoding.EncodeToString(x))
	case Value:
		writeTable(b, l, f.Ref, x)
	}
}

func literal(e *wire.EnumType, number int32) string {
	for _, v := range e.Values {
		if v.Number == number {
			return v.Literal
		}
	}
	return fmt.Sprintf("unknown:%d", number)
}

// FromJSON reads that form; it is strict about everything but order and spaces.
func FromJSON(l *wire.Layout, table int, text []byte) (Value, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	v := Value{}
	for i := range l.Tables[table].Fields {
		f := &l.Tables[table].Fields[i]
		x, ok := raw[f.JSON]
		delete(raw, f.JSON)
		isNull := string(x) == "null"
		switch {
		case !ok && (f.Deprecated || f.Presence == wire.Optional || f.Presence == wire.OptionalNullable):
			continue
		case isNull && f.Presence == wire.Nullable:
			continue
		case !ok || isNull:
			return nil, fmt.Errorf("%s is missing or null", f.JSON)
		}
		var err error
		if v[f.Name], err = readField(l, f, x); err != nil {
			return nil, fmt.Errorf("%s: %w", f.JSON, err)
		}
	}
	if len(raw) > 0 {
		return nil, fmt.Errorf("unknown properties %v", raw)
	}
	return v, nil
}

func readField(l *wire.Layout, f *wire.Field, text json.RawMessage) (any, error) {
	if !f.Vector {
		return readJSON(l, f, text)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil {
		return nil, err
	}
	list := []any{}
	for _, item := range items {
		x, err := readJSON(l, f, item)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

func readJSON(l *wire.Layout, f *wire.Field, text json.RawMessage) (any, error) {
	switch f.Kind {
	case wire.Bool:
		return as[bool](text)
	case wire.String:
		return as[string](text)
	case wire.Bytes:
		return as[[]byte](text)
	case wire.Struct:
		return FromJSON(l, f.Ref, text)
	case wire.Enum:
		s, err := as[string](text)
		if err != nil {
			return nil, err
		}
		return number(&l.Enums[f.Ref], s.(string))
	case wire.Int64:
		quoted := text[0] == '"'
		n, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
		if wide := f.BigInt || n > 1<<53-1 || n < -(1<<53-1); err == nil && quoted != wide {
			err = fmt.Errorf("%s should be a string: %v", text, wide)
		}
		return n, err
	}
	switch string(text) {
	case `"NaN"`:
		return math.NaN(), nil
	case `"Infinity"`:
		return math.Inf(1), nil
	case `"-Infinity"`:
		return math.Inf(-1), nil
	}
	return as[float64](text)
}

func number(e *wire.EnumType, text string) (any, error) {
	for _, v := range e.Values {
		if v.Literal == text {
			return v.Number, nil
		}
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(text, "unknown:"), 10, 32)
	return int32(n), err
}
