package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ignex/nova/wire"
)

var le = binary.LittleEndian

func TestReadBack(t *testing.T) {
	want := sampleNode()
	got, err := readNodeFrom(want.append())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
}

// Nothing of a table need be there: readers supply zeros.
func TestReadEmptyTable(t *testing.T) {
	got, err := readNodeFrom(unhex("0c000000" + "08000000" + "04000400" + "04000000"))
	if err != nil || !reflect.DeepEqual(got, &node{}) {
		t.Fatalf("got %+v, %v", got, err)
	}
}

// target returns the index that the reference in field id of the root points to.
func target(b []byte, id int) int {
	root := 4 + int(le.Uint32(b[4:]))
	vt := root - int(int32(le.Uint32(b[root:])))
	slot := root + int(le.Uint16(b[vt+4+2*id:]))
	return slot + int(le.Uint32(b[slot:]))
}

func TestReadErrors(t *testing.T) {
	root := func(b []byte) int { return 4 + int(le.Uint32(b[4:])) }
	vtable := func(b []byte) int { return root(b) - len(nodeVTable) }
	slot := func(b []byte, id int) int { return root(b) + int(le.Uint16(b[vtable(b)+4+2*id:])) }
	kid := func(b []byte, i int) int { at := target(b, 1) + 4 + 4*i; return at + int(le.Uint32(b[at:])) }
	for name, c := range map[string]struct {
		change func(b []byte) []byte
		path   string
		reason string
	}{
		"nothing":             {func([]byte) []byte { return nil }, "", "prefix"},
		"prefix alone":        {func([]byte) []byte { return make([]byte, 4) }, "", "prefix"},
		"7 bytes":             {func([]byte) []byte { return []byte{3, 0, 0, 0, 0, 0, 0} }, "", "prefix"},
		"zeros":               {func([]byte) []byte { return unhex("0c000000000000000000000000000000") }, "", "offset"},
		"prefix low":          {func(b []byte) []byte { b[0]--; return b }, "", "prefix"},
		"prefix high":         {func(b []byte) []byte { b[3] = 0x80; return b }, "", "prefix"},
		"root at the end":     {func(b []byte) []byte { le.PutUint32(b[4:], uint32(len(b)-4-3)); return b }, "", "offset"},
		"root far":            {func(b []byte) []byte { le.PutUint32(b[4:], 0xffffffff); return b }, "", "offset"},
		"vtable before":       {func(b []byte) []byte { le.PutUint32(b[root(b):], uint32(root(b)+1)); return b }, "", "vtable"},
		"vtable behind":       {func(b []byte) []byte { le.PutUint32(b[root(b):], uint32(-len(b))); return b }, "", "vtable"},
		"vtable min":          {func(b []byte) []byte { le.PutUint32(b[root(b):], 0x80000000); return b }, "", "vtable"},
		"vtable odd":          {func(b []byte) []byte { b[vtable(b)]++; return b }, "", "vtable"},
		"vtable of 2":         {func(b []byte) []byte { le.PutUint16(b[vtable(b):], 2); return b }, "", "vtable"},
		"vtable of 65534":     {func(b []byte) []byte { le.PutUint16(b[vtable(b):], 65534); return b }, "", "vtable"},
		"field over soffset":  {func(b []byte) []byte { le.PutUint16(b[vtable(b)+4+2*8:], 3); return b }, "n", "field"},
		"field over the end":  {func(b []byte) []byte { le.PutUint16(b[vtable(b)+4+2*8:], uint16(len(b)-root(b)-7)); return b }, "n", "field"},
		"bool over the end":   {func(b []byte) []byte { le.PutUint16(b[vtable(b)+4+2*7:], uint16(len(b)-root(b))); return b }, "on", "field"},
		"enum over the end":   {func(b []byte) []byte { le.PutUint16(b[vtable(b)+4+2*9:], uint16(len(b)-root(b)-3)); return b }, "kind", "field"},
		"optional out":        {func(b []byte) []byte { le.PutUint16(b[vtable(b)+4+2*12:], 60000); return b }, "maybe", "field"},
		"string offset 0":     {func(b []byte) []byte { le.PutUint32(b[slot(b, 0):], 0); return b }, "name", "offset"},
		"string negative":     {func(b []byte) []byte { le.PutUint32(b[slot(b, 0):], 0xfffffff0); return b }, "name", "offset"},
		"string long":         {func(b []byte) []byte { le.PutUint32(b[target(b, 0):], 0x7fffffff); return b }, "name", "string"},
		"string longer":       {func(b []byte) []byte { le.PutUint32(b[target(b, 0):], 0xffffffff); return b }, "name", "string"},
		"string without NUL":  {func(b []byte) []byte { b[target(b, 0)+8] = 'x'; return b }, "name", "NUL"},
		"string bad UTF-8":    {func(b []byte) []byte { b[target(b, 0)+5] = 0xff; return b }, "name", "UTF-8"},
		"kids count":          {func(b []byte) []byte { le.PutUint32(b[target(b, 1):], 0x7fffffff); return b }, "kids", "vector"},
		"nums count":          {func(b []byte) []byte { le.PutUint32(b[target(b, 3):], 0x7fffffff); return b }, "nums", "vector"},
		"nums wrapping count": {func(b []byte) []byte { le.PutUint32(b[target(b, 3):], 0x20000000); return b }, "nums", "vector"},
		"flags count":         {func(b []byte) []byte { le.PutUint32(b[target(b, 4):], 0x7fffffff); return b }, "flags", "vector"},
		"names count":         {func(b []byte) []byte { le.PutUint32(b[target(b, 5):], 0x40000001); return b }, "names", "vector"},
		"raw count":           {func(b []byte) []byte { le.PutUint32(b[target(b, 6):], 0xffffffff); return b }, "raw", "vector"},
		"ids count":           {func(b []byte) []byte { le.PutUint32(b[target(b, 10):], 0x7fffffff); return b }, "ids", "vector"},
		"kinds count":         {func(b []byte) []byte { le.PutUint32(b[target(b, 11):], 0x7fffffff); return b }, "kinds", "vector"},
		"element offset 0":    {func(b []byte) []byte { le.PutUint32(b[target(b, 1)+8:], 0); return b }, "kids[1]", "offset"},
		"element string":      {func(b []byte) []byte { le.PutUint32(b[target(b, 5)+12:], 0x7fffffff); return b }, "names[2]", "offset"},
		"kid's string":        {func(b []byte) []byte { le.PutUint32(b[kid(b, 1)+4:], 1<<30); return b }, "kids[1].name", "offset"},
		"kid's vtable":        {func(b []byte) []byte { le.PutUint32(b[kid(b, 0):], 0x7fffffff); return b }, "kids[0]", "vtable"},
		"next's string":       {func(b []byte) []byte { b[target(b, 2)+4] = 0; le.PutUint32(b[target(b, 2)+4:], 0); return b }, "next.name", "offset"},
		"next's vtable":       {func(b []byte) []byte { le.PutUint32(b[target(b, 2):], 0x7fffffff); return b }, "next", "vtable"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readNodeFrom(c.change(sampleNode().append()))
			var decode *wire.DecodeError
			if !errors.As(err, &decode) || decode.Path != c.path || !strings.Contains(decode.Reason, c.reason) {
				t.Fatalf("error %v, want one at %q about %q", err, c.path, c.reason)
			}
		})
	}
}

// The vtable's own size of the table is not to be trusted: google's builder for
// Go shares one vtable between tables of different sizes.
func TestReadIgnoresInlineSize(t *testing.T) {
	for _, size := range []uint16{0, 3, 4, nodeInline - 1, nodeInline + 1, 65535} {
		b := sampleNode().append()
		le.PutUint16(b[4+int(le.Uint32(b[4:]))-len(nodeVTable)+2:], size)
		if got, err := readNodeFrom(b); err != nil || !reflect.DeepEqual(got, sampleNode()) {
			t.Errorf("size %d: %+v, %v", size, got, err)
		}
	}
}

func TestReadDepth(t *testing.T) {
	chain := func(n int) []byte {
		m := &node{}
		for range n - 1 {
			m = &node{Next: m}
		}
		return m.append()
	}
	if _, err := readNodeFrom(chain(64)); err != nil {
		t.Errorf("64 tables: %v", err)
	}
	_, err := readNodeFrom(chain(65))
	if err == nil || !strings.Contains(err.Error(), "deeper than 64") || !strings.Contains(err.Error(), "next.next.next") {
		t.Errorf("65 tables: %v", err)
	}
}

// dag returns a buffer of levels tables, each with a vector of two references to
// the next: 2^levels visits for a reader without a budget.
func dag(levels int) []byte {
	b := unhex("00000000" + "0c000000" + "08000800" + "00000400") // vtable at 8: field 1 at 4
	for level := range levels {
		at := len(b)
		b = le.AppendUint32(b, uint32(at-8)) // the table, soffset to the shared vtable
		if level == levels-1 {
			b = le.AppendUint32(b, 4)
			b = le.AppendUint32(b, 0)
			break
		}
		b = le.AppendUint32(b, 4)
		b = le.AppendUint32(b, 2)
		b = le.AppendUint32(b, 8)
		b = le.AppendUint32(b, 4)
	}
	le.PutUint32(b, uint32(len(b)-4))
	return b
}

// bounded runs f and fails when it takes long or allocates more than limit.
func bounded(t *testing.T, limit uint64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if took > 2*time.Second || after.TotalAlloc-before.TotalAlloc > limit {
		t.Fatalf("took %v and %d bytes, limit 2 s and %d", took, after.TotalAlloc-before.TotalAlloc, limit)
	}
}

func TestReadAliasingIsBounded(t *testing.T) {
	if got, err := readNodeFrom(dag(4)); err != nil || len(got.Kids) != 2 || len(got.Kids[1].Kids[0].Kids) != 2 {
		t.Fatalf("a small shared tree is valid: %+v, %v", got, err)
	}
	for _, levels := range []int{8, 41, 64} {
		data := dag(levels)
		bounded(t, uint64(len(data))*1000+1<<20, func() {
			if _, err := readNodeFrom(data); err == nil {
				t.Errorf("%d levels in %d bytes: accepted", levels, len(data))
			}
		})
	}
}

// Many references to one long string, and to one long vector.
func TestReadProducesWithinBudget(t *testing.T) {
	build := func(refs, size int) []byte {
		b := unhex("00000000" + "14000000" + "10000800" + "0000" + "0000" + "0000" + "0000" + "0000" + "0400") // field 5 (names) at 4
		b = le.AppendUint32(b, uint32(24-8))
		b = le.AppendUint32(b, 4)
		b = le.AppendUint32(b, uint32(refs))
		text := len(b) + 4*refs
		for range refs {
			b = le.AppendUint32(b, uint32(text-len(b)))
		}
		b = le.AppendUint32(b, uint32(size))
		b = append(append(b, strings.Repeat("x", size)...), 0)
		le.PutUint32(b, uint32(len(b)-4))
		return b
	}
	// The rule: strings and vectors together ≤ 16 × length + 65536 bytes.
	for _, c := range []struct{ refs, size int }{{10, 10}, {20, 5000}, {40, 5000}, {1000, 100_000}, {70_000, 0}} {
		data := build(c.refs, c.size)
		fits := 4*c.refs+c.refs*c.size <= 16*len(data)+65536
		bounded(t, uint64(len(data))*200+1<<20, func() {
			got, err := readNodeFrom(data)
			if (err == nil) != fits {
				t.Errorf("%d references to %d bytes: error %v, fits %v", c.refs, c.size, err, fits)
			}
			if err == nil && len(got.Names) != c.refs {
				t.Errorf("%d names, want %d", len(got.Names), c.refs)
			}
		})
	}
}

// The exact edge of the byte budget: one more byte is refused.
func TestReadBudgetEdge(t *testing.T) {
	seen := map[bool]int{}
	for size := 8_300; size < 8_600; size++ {
		data := unhex("00000000" + "14000000" + "10000800" + "0000" + "0000" + "0000" + "0000" + "0000" + "0400")
		data = le.AppendUint32(data, 16)
		data = le.AppendUint32(data, 4)
		const refs = 24
		data = le.AppendUint32(data, refs)
		text := len(data) + 4*refs
		for range refs {
			data = le.AppendUint32(data, uint32(text-len(data)))
		}
		data = append(append(le.AppendUint32(data, uint32(size)), make([]byte, size)...), 0)
		le.PutUint32(data, uint32(len(data)-4))
		_, err := readNodeFrom(data)
		fits := 4*refs+refs*size <= 16*len(data)+65536
		if (err == nil) != fits {
			t.Fatalf("size %d: error %v, fits %v", size, err, fits)
		}
		seen[fits]++
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Fatalf("the edge was not crossed: %v", seen)
	}
}

func TestEveryTruncation(t *testing.T) {
	whole := sampleNode().append()
	for n := range whole {
		if _, err := readNodeFrom(whole[:n:n]); err == nil {
			t.Errorf("%d of %d bytes: accepted", n, len(whole))
		}
		cut := append([]byte(nil), whole[:n]...)
		if n >= 4 { // also with a prefix that fits
			le.PutUint32(cut, uint32(n-4))
			bounded(t, 4<<20, func() { _, _ = readNodeFrom(cut[:n:n]) })
		}
	}
}

func TestEverySingleByteChange(t *testing.T) {
	whole := sampleNode().append()
	for i := range whole {
		for v := range 256 {
			changed := append([]byte(nil), whole...)
			changed[i] = byte(v)
			_, _ = readNodeFrom(changed)
		}
	}
}

func TestManyByteChanges(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	whole := sampleNode().append()
	bounded(t, 1<<34, func() {
		for range 50_000 {
			changed := append([]byte(nil), whole...)
			for range 1 + r.IntN(6) {
				changed[4+r.IntN(len(changed)-4)] = byte(r.Uint32() >> (r.IntN(4) * 8))
			}
			_, _ = readNodeFrom(changed)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(sampleNode().append())
	f.Add(dag(6))
	f.Add(unhex("0c000000" + "08000000" + "04000400" + "04000000"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := readNodeFrom(data)
		if err != nil {
			return
		}
		// What was read can be written and read again.
		again, err := readNodeFrom(m.append())
		if err != nil {
			t.Fatalf("read %x, wrote what cannot be read: %v", data, err)
		}
		if !bytes.Equal(again.append(), m.append()) {
			t.Fatalf("writing is not stable for %x", data)
		}
	})
}
