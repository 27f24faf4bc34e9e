package wire_test

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ignex/nova/wire"
)

// decodeWHATWG is the UTF-8 decoder of the WHATWG Encoding Standard, section
// 8.1.1, written down state by state.
func decodeWHATWG(in []byte) string {
	var out strings.Builder
	var point rune
	seen, needed := 0, 0
	lower, upper := byte(0x80), byte(0xBF)
	for i := 0; i < len(in); i++ {
		b := in[i]
		if needed == 0 {
			switch {
			case b <= 0x7F:
				out.WriteByte(b)
			case b >= 0xC2 && b <= 0xDF:
				needed, point = 1, rune(b&0x1F)
			case b >= 0xE0 && b <= 0xEF:
				if b == 0xE0 {
					lower = 0xA0
				}
				if b == 0xED {
					upper = 0x9F
				}
				needed, point = 2, rune(b&0xF)
			case b >= 0xF0 && b <= 0xF4:
				if b == 0xF0 {
					lower = 0x90
				}
				if b == 0xF4 {
					upper = 0x8F
				}
				needed, point = 3, rune(b&0x7)
			default:
				out.WriteString("\uFFFD")
			}
			continue
		}
		if b < lower || b > upper {
			point, needed, seen, lower, upper = 0, 0, 0, 0x80, 0xBF
			i-- // the byte is read again
			out.WriteString("\uFFFD")
			continue
		}
		lower, upper = 0x80, 0xBF
		point = point<<6 | rune(b&0x3F)
		if seen++; seen == needed {
			out.WriteRune(point)
			point, needed, seen = 0, 0, 0
		}
	}
	if needed != 0 {
		out.WriteString("\uFFFD")
	}
	return out.String()
}

// badUTF8 draws from the bytes at which the rules change.
func badUTF8(r *rand.Rand) []byte {
	edges := []byte{0, 'a', 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1,
		0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF}
	b := make([]byte, r.IntN(12))
	for i := range b {
		if b[i] = byte(r.Uint32()); r.IntN(4) > 0 {
			b[i] = edges[r.IntN(len(edges))]
		}
	}
	return b
}

func TestToValidVectors(t *testing.T) {
	const bad = "\uFFFD"
	for in, want := range map[string]string{
		"":                             "",
		"plain ö 漢 😀 \x00 \ufeff":      "plain ö 漢 😀 \x00 \ufeff",
		"\xF0\x9F\x98":                 bad, // one truncated sequence, one mark
		"\xE0\x80":                     bad + bad,
		"\xED\xA0\x80":                 bad + bad + bad, // a surrogate written as UTF-8
		"\xF4\x90\x80\x80":             bad + bad + bad + bad,
		"\xC0\x80":                     bad + bad,
		"\xF1\x80\x80A":                bad + "A",
		"\xE1\x80\xE2\xF0\x91\x92\xF1": bad + bad + bad + bad,
		"\uFFFD":                       bad,
		"a\xFFb":                       "a" + bad + "b",
	} {
		if got := wire.ToValid(in); got != want {
			t.Errorf("ToValid(%x) = %x, want %x", in, got, want)
		}
	}
}

func TestToValidAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200_000 {
		in := badUTF8(r)
		got, want := wire.ToValid(string(in)), decodeWHATWG(in)
		if got != want || !utf8.ValidString(got) {
			t.Fatalf("ToValid(%x) = %x, the standard says %x", in, got, want)
		}
	}
}

// Node's TextDecoder is another hand's reading of the same standard.
func TestToValidAgainstNode(t *testing.T) {
	const script = `
		const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
		const lines = require("fs").readFileSync(0, "utf8").split("\n");
		console.log(lines.map(l => Buffer.from(decoder.decode(Buffer.from(l, "hex")), "utf8").toString("hex")).join("\n"));`
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var inputs [][]byte
	var lines []string
	for range 20_000 {
		in := badUTF8(r)
		inputs, lines = append(inputs, in), append(lines, hex.EncodeToString(in))
	}
	cmd := exec.Command("node", "-e", script)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node (version 20 or newer must be installed): %v", err)
	}
	results := bufio.NewScanner(strings.NewReader(string(out)))
	for i := range inputs {
		if !results.Scan() {
			t.Fatalf("node answered %d of %d lines", i, len(inputs))
		}
		if got := fmt.Sprintf("%x", wire.ToValid(string(inputs[i]))); got != results.Text() {
			t.Fatalf("ToValid(%x) = %s, TextDecoder says %s", inputs[i], got, results.Text())
		}
	}
}
