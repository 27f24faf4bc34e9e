package docs

import (
	"bytes"
	"encoding/json"
	"slices"
)

// object is a JSON object whose keys keep their order.
type object []member

type member struct {
	key   string
	value any
}

func (o *object) set(key string, value any) { *o = append(*o, member{key, value}) }

func (o object) has(key string) bool {
	return slices.ContainsFunc(o, func(m member) bool { return m.key == key })
}

// setText sets a key unless the text is empty.
func (o *object) setText(key, text string) {
	if text != "" {
		o.set(key, text)
	}
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := appendJSON(&b, m.key); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := appendJSON(&b, m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func appendJSON(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	b.Truncate(b.Len() - 1) // the line end
	return err
}

// indented returns v as JSON for people.
func indented(v any) ([]byte, error) {
	var plain, out bytes.Buffer
	if err := appendJSON(&plain, v); err != nil {
		return nil, err
	}
	if err := json.Indent(&out, plain.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
