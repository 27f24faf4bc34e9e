package gostruct

import (
	"bytes"
	"encoding/json"
	"strings"
)

// object is a JSON object that keeps its order: that of properties has a meaning.
type object []pair

type pair struct {
	key   string
	value any // string, bool, number, []any or object
}

// number is a JSON number as written.
type number string

// encode writes a document; its lines do not matter, places come from Go.
func encode(v any) []byte {
	var b bytes.Buffer
	write(&b, v)
	return b.Bytes()
}

func write(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case object:
		b.WriteByte('{')
		for i, p := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, p.key)
			b.WriteByte(':')
			write(b, p.value)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, x)
		}
		b.WriteByte(']')
	case number:
		b.WriteString(string(v))
	default:
		text, _ := json.Marshal(v) // strings and booleans always have a JSON form
		b.Write(text)
	}
}

// under returns the JSON pointer of what stands below another.
func under(pointer string, keys ...string) string {
	for _, k := range keys {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
	}
	return pointer
}
