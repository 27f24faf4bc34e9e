package golden_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ignex/nova/internal/golden"
	"github.com/ignex/nova/wire"
)

// readAll reads payload with each Go reader. They must agree: the same error at
// the same place, or both a value. It returns that error.
func readAll(t testing.TB, s *subject, table int, payload []byte) error {
	t.Helper()
	_, dynamic := s.layout.AppendJSON(nil, table, payload)
	if m := s.generated(t, table); m != nil {
		generated := m.UnmarshalNova(payload)
		if fmt.Sprint(generated) != fmt.Sprint(dynamic) {
			t.Fatalf("generated Go says %v, the schema-driven codec %v, of %x", generated, dynamic, payload)
		}
	}
	var decode *wire.DecodeError
	if dynamic != nil && !errors.As(dynamic, &decode) {
		t.Fatalf("%T instead of a DecodeError: %v", dynamic, dynamic)
	}
	return dynamic
}

// samples are valid messages of a table: small, with all there is, and as
// google's builder writes them.
func samples(s *subject, random *golden.Random, table int) [][]byte {
	var all [][]byte
	for len(all) < 4 {
		payload, err := s.layout.EncodeJSON(nil, table, golden.JSON(s.layout, table, random.Table(table)))
		if err == nil && len(payload) < 1500 {
			all = append(all, payload)
		}
	}
	for len(all) < 6 {
		if payload := golden.Build(random, table, random.Table(table)); len(payload) < 1500 {
			all = append(all, payload)
		}
	}
	return all
}

// within fails when fn takes long or allocates much.
func within(t *testing.T, limit time.Duration, bytes uint64, fn func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	fn()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; took > limit || used > bytes {
		t.Fatalf("took %v and %d bytes, limits %v and %d", took, used, limit, bytes)
	}
}

func TestEveryTruncation(t *testing.T) {
	each(t, func(t *testing.T, s *subject) {
		random := seeded(t, s.layout)
		for _, table := range s.roots() {
			for _, whole := range samples(s, random, table) {
				if err := readAll(t, s, table, whole); err != nil {
					t.Fatalf("a valid message: %v", err)
				}
				for n := range whole {
					if readAll(t, s, table, whole[:n:n]) == nil {
						t.Fatalf("%d bytes of %x are accepted", n, whole)
					}
					if n < 4 {
						continue
					}
					cut := append([]byte(nil), whole[:n]...) // with a prefix that fits
					binary.LittleEndian.PutUint32(cut, uint32(n-4))
					_ = readAll(t, s, table, cut)
				}
			}
		}
	})
}

func TestEverySingleByteChange(t *testing.T) {
	each(t, func(t *testing.T, s *subject) {
		random := seeded(t, s.layout)
		for _, table := range s.roots() {
			all := samples(s, random, table)
			slices.SortFunc(all, func(a, b []byte) int { return len(a) - len(b) })
			for i, whole := range all {
				stride := 1 // every value for the smallest message, samples for others
				if i > 0 {
					stride = 5 + len(whole)/20
				}
				changed := append([]byte(nil), whole...)
				within(t, time.Minute, 1<<36, func() {
					for i := range whole {
						for v := random.IntN(stride); v < 256; v += stride {
							changed[i] = byte(v)
							_ = readAll(t, s, table, changed)
						}
						changed[i] = whole[i]
					}
				})
			}
		}
	})
}

// Single messages that were made to cost: each must fail or end at once, in
// memory bounded by its own length.
func TestCostlyMessages(t *testing.T) {
	each(t, func(t *testing.T, s *subject) {
		random := seeded(t, s.layout)
		for _, table := range s.roots() {
			for _, whole := range samples(s, random, table) {
				// Any one of these alone could cost gigabytes; together they may not.
				within(t, 20*time.Second, uint64(len(whole))*uint64(len(whole))*8*1000+1<<22, func() {
					for i := 4; i+4 <= len(whole); i++ {
						for _, x := range []uint32{0x7fffffff, 0x80000000, 0xffffffff, 0x3fffffff, 0x20000000, 0, 4, 0xfffffffc} {
							changed := append([]byte(nil), whole...)
							binary.LittleEndian.PutUint32(changed[i:], x)
							_ = readAll(t, s, table, changed)
						}
					}
				})
			}
		}
	})
}

// Mutated messages: what the C++ verifier accepts we read too, unless its text
// is bad or it is a bomb; and TypeScript says the same as Go of the same field, in
// the fewer words that a browser has to load.
func testMutations(t *testing.T, s *subject, verifier *golden.Verifier, node *golden.Node, table int) {
	random := seeded(t, s.layout)
	name := s.layout.Tables[table].Name
	all := samples(s, random, table)
	for range 2 * rounds {
		payload := mutate(random.Rand, all[random.IntN(len(all))])
		err := readAll(t, s, table, payload)
		if ts := node.Check(t, table, payload); text(ts) != text(err) {
			t.Fatalf("Go says %v, TypeScript %v, of %s %x", err, ts, name, payload)
		}
		if err != nil && verifier.Accepts(t, name, payload) && !ownRule(err) && !noVTable(t, s, table, payload, err) {
			t.Fatalf("%v, but the C++ verifier accepts %s %x", err, name, payload)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return brief.Replace(err.Error())
}

// brief turns Go's reasons into those of TypeScript.
var brief = strings.NewReplacer(
	"an offset points outside the buffer", "an offset or length points outside the buffer",
	"the vtable lies outside the buffer", "an offset or length points outside the buffer",
	"the field reaches outside the buffer", "an offset or length points outside the buffer",
	"a vector reaches outside the buffer", "an offset or length points outside the buffer",
	"a string reaches outside the buffer", "an offset or length points outside the buffer",
	"more tables than the buffer can hold", "the value is far larger than its buffer",
)

// ownRule reports whether err is about what the C++ verifier leaves open: text,
// what a message expands to, vtables without room for their two sizes, fields
// that lie over a table's first four bytes, and elements that refer to
// themselves or backwards.
func ownRule(err error) bool {
	for _, reason := range []string{"not valid UTF-8", "far larger than its buffer", "more tables than the buffer",
		"vtable has a wrong size", "the field reaches outside", "]: an offset points outside"} {
		if strings.Contains(err.Error(), reason) {
			return true
		}
	}
	return false
}

// noVTable reports whether a vtable begins with the last two bytes and says that it
// has none, not even the four that every vtable has. The verifier asks for no more than
// it says; with room behind it we say so too.
func noVTable(t *testing.T, s *subject, table int, payload []byte, err error) bool {
	roomy := append(slices.Clone(payload), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(roomy, uint32(len(roomy)-4))
	more := readAll(t, s, table, roomy)
	return strings.Contains(err.Error(), "the vtable lies outside") && more != nil && strings.Contains(more.Error(), "vtable has a wrong size")
}

func mutate(r *rand.Rand, whole []byte) []byte {
	b := append([]byte(nil), whole...)
	for range 1 + r.IntN(3) {
		at := 4 + r.IntN(len(b)-4)
		switch r.IntN(5) {
		case 0:
			b[at] = byte(r.Uint32())
		case 1:
			b[at] ^= 1 << r.IntN(8)
		case 2: // a small number where offsets and vtables are
			at = 4 + r.IntN(min(len(b)-4, 64))
			b[at] = byte(r.IntN(len(b)))
		case 3: // one reference in place of another
			from := 4 + r.IntN(len(b)-4)
			copy(b[at:], b[from:min(from+4, len(b))])
		default: // cut
			b = b[:max(8, len(b)-r.IntN(8))]
			binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
		}
	}
	return b
}

// FuzzDecode reads the bytes as every root table of the schema: the first byte
// chooses which.
func FuzzDecode(f *testing.F) {
	var all []*subject
	for _, name := range []string{"market", "seismic", "control", "kinds"} {
		s := load(f, name)
		random := golden.NewRandom(s.layout, 1)
		for i, table := range s.roots() {
			for _, payload := range samples(s, random, table)[:2] {
				f.Add(byte(len(all)), byte(i), payload)
			}
		}
		all = append(all, s)
	}
	f.Fuzz(func(t *testing.T, schema, root byte, payload []byte) {
		s := all[int(schema)%len(all)]
		roots := s.roots()
		table := roots[int(root)%len(roots)]
		if readAll(t, s, table, payload) != nil {
			return
		}
		// What was read is written again, to bytes that hold the same.
		text, err := s.layout.AppendJSON(nil, table, payload)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.layout.EncodeJSON(nil, table, text)
		if err != nil {
			t.Fatalf("read %s, which cannot be written: %v", text, err)
		}
		if back, err := s.layout.AppendJSON(nil, table, again); err != nil || string(back) != string(text) {
			t.Fatalf("%s became %s, %v", text, back, err)
		}
	})
}
