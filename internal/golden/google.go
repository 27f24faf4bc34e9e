package golden

import (
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/ignex/nova/wire"
)

// Build writes a size-prefixed FlatBuffer with google's builder, in one of the
// many ways it allows: r chooses whether zero values are written or left out,
// whether equal strings are shared, whether the file identifier is there, and in
// which order fields are added.
func Build(r *Random, table int, v Value) []byte {
	b := builder{
		Builder: flatbuffers.NewBuilder(0), r: r, layout: r.Layout,
		omit: r.IntN(2) == 0, share: r.IntN(2) == 0,
	}
	root := b.table(table, v)
	if r.IntN(2) == 0 {
		b.FinishSizePrefixedWithFileIdentifier(root, []byte("IGNX"))
	} else {
		b.FinishSizePrefixed(root)
	}
	return b.FinishedBytes()
}

type builder struct {
	*flatbuffers.Builder
	r           *Random
	layout      *wire.Layout
	omit, share bool
}

func (b *builder) table(table int, v Value) flatbuffers.UOffsetT {
	fields := b.layout.Tables[table].Fields
	refs := make([]flatbuffers.UOffsetT, len(fields))
	order := b.r.Perm(len(fields))
	for _, i := range order {
		f := &fields[i]
		x, ok := v[f.Name]
		if !ok || !f.IsRef() {
			continue
		}
		if b.omit && !f.Presence.CanBeAbsent() && Diff(x, zero(b.layout, f)) == "" {
			continue
		}
		if f.Vector {
			refs[i] = b.vector(f, x.([]any))
		} else {
			refs[i] = b.ref(f, x)
		}
	}
	b.StartObject(len(fields))
	for _, i := range order {
		f := &fields[i]
		if x, ok := v[f.Name]; ok && !f.IsRef() {
			if !b.omit || f.Presence.CanBeAbsent() || Diff(x, zero(b.layout, f)) != "" {
				b.scalar(x)
				b.Slot(i)
			}
		} else if refs[i] != 0 {
			b.PrependUOffsetTSlot(i, refs[i], 0)
		}
	}
	return b.EndObject()
}

func (b *builder) scalar(x any) {
	switch x := x.(type) {
	case bool:
		b.PrependBool(x)
	case int64:
		b.PrependInt64(x)
	case float64:
		b.PrependFloat64(x)
	case int32:
		b.PrependInt32(x)
	}
}

func (b *builder) ref(f *wire.Field, x any) flatbuffers.UOffsetT {
	switch x := x.(type) {
	case string:
		if b.share {
			return b.CreateSharedString(x)
		}
		return b.CreateString(x)
	case []byte:
		return b.CreateByteVector(x)
	default:
		return b.table(f.Ref, x.(Value))
	}
}

func (b *builder) vector(f *wire.Field, list []any) flatbuffers.UOffsetT {
	element := wire.Field{Kind: f.Kind, Ref: f.Ref}
	refs := make([]flatbuffers.UOffsetT, len(list))
	if element.IsRef() {
		for _, i := range b.r.Perm(len(list)) {
			refs[i] = b.ref(&element, list[i])
		}
	}
	size := element.Size()
	b.StartVector(size, len(list), size)
	for i := len(list) - 1; i >= 0; i-- {
		if element.IsRef() {
			b.PrependUOffsetT(refs[i])
		} else {
			b.scalar(list[i])
		}
	}
	return b.EndVector(len(list))
}

// Read reads a size-prefixed FlatBuffer with google's accessors. They verify
// nothing: the buffer must have passed the Verifier.
func Read(l *wire.Layout, table int, payload []byte) Value {
	t := flatbuffers.Table{Bytes: payload, Pos: flatbuffers.GetUOffsetT(payload[4:]) + 4}
	return readTable(l, table, t)
}

func readTable(l *wire.Layout, table int, t flatbuffers.Table) Value {
	v := Value{}
	for i := range l.Tables[table].Fields {
		f := &l.Tables[table].Fields[i]
		at := flatbuffers.UOffsetT(t.Offset(flatbuffers.VOffsetT(4 + 2*i)))
		if at == 0 || f.Deprecated {
			continue
		}
		if !f.Vector {
			v[f.Name] = readOne(l, f, t, t.Pos+at)
			continue
		}
		list := []any{}
		element := wire.Field{Kind: f.Kind, Ref: f.Ref}
		start := t.Vector(at)
		for j := range t.VectorLen(at) {
			list = append(list, readOne(l, &element, t, start+flatbuffers.UOffsetT(j*element.Size())))
		}
		v[f.Name] = list
	}
	return v
}

func readOne(l *wire.Layout, f *wire.Field, t flatbuffers.Table, at flatbuffers.UOffsetT) any {
	switch f.Kind {
	case wire.Bool:
		return t.GetBool(at)
	case wire.Int64:
		return t.GetInt64(at)
	case wire.Float64:
		return t.GetFloat64(at)
	case wire.Enum:
		return t.GetInt32(at)
	case wire.String:
		return string(t.ByteVector(at))
	case wire.Bytes:
		return append([]byte{}, t.ByteVector(at)...)
	default:
		return readTable(l, f.Ref, flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at)})
	}
}
