package wire

import "strconv"

// Key returns what conflation compares: the event's id and the value of its key
// field, as bytes. ok is false when the event has no key field, when this value
// lacks it, or when the payload is damaged.
func (l *Layout) Key(event *Event, payload []byte) (key string, ok bool) {
	if event.Key == "" {
		return "", false
	}
	table := &l.Tables[event.Table]
	for id := range table.Fields {
		if f := &table.Fields[id]; f.Name == event.Key {
			value, ok := keyValue(f, id, payload)
			return strconv.FormatUint(uint64(event.ID), 36) + "\x00" + value, ok
		}
	}
	return "", false
}

func keyValue(f *Field, id int, payload []byte) (string, bool) {
	var r Reader
	t := r.Root(payload)
	if r.Failed() || f.Vector || !r.Has(t, id) {
		return "", false
	}
	var value string
	switch f.Kind {
	case String:
		value = r.String(t, id, f.JSON)
	case Bytes:
		value = string(r.Bytes(t, id, f.JSON))
	case Int64:
		value = strconv.FormatInt(r.Int64(t, id, f.JSON), 10)
	case Enum:
		value = strconv.FormatInt(int64(r.Enum(t, id, f.JSON)), 10)
	case Bool:
		value = strconv.FormatBool(r.Bool(t, id, f.JSON))
	case Int8, Int16, Int32, Uint8, Uint16, Uint32, Uint64:
		if at := r.field(t, id, f.Kind.size(), f.JSON); at != 0 {
			value = string(appendNarrow(nil, f.Kind, r.buf[at:]))
		}
	default:
		return "", false
	}
	return value, !r.Failed()
}
