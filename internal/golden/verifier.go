package golden

import (
	"bufio"
	"encoding/binary"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Verifier is the C++ verifier of FlatBuffers as a running program. It serves
// one goroutine and ends with the test.
type Verifier struct {
	schema *FBS
	in     *bufio.Writer
	out    *bufio.Reader
}

// StartVerifier builds the program for one schema and starts it.
func StartVerifier(t testing.TB, schema *FBS) *Verifier {
	t.Helper()
	dir := t.TempDir()
	const install = "apt-get install flatbuffers-compiler libflatbuffers-dev g++"
	run(t, dir, install, "flatc", "--cpp", schema.Path)
	var tables strings.Builder
	for _, name := range schema.Tables {
		tables.WriteString("TABLE(" + schema.qualified(name, "::") + ")\n")
	}
	writeFile(t, filepath.Join(dir, "tables.inc"), "%s", tables.String())
	source := filepath.Join(Root(t), "internal", "golden", "verifier", "main.cpp")
	program := filepath.Join(dir, "verifier")
	run(t, dir, install, "g++", "-std=c++17", "-I", dir, "-o", program, source)

	cmd := exec.Command(program)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the verifier ended badly: %v", err)
		}
	})
	return &Verifier{schema: schema, in: bufio.NewWriter(in), out: bufio.NewReader(out)}
}

// Accepts reports whether payload is a valid size-prefixed FlatBuffer of table.
func (v *Verifier) Accepts(t testing.TB, table string, payload []byte) bool {
	t.Helper()
	for _, part := range [][]byte{[]byte(v.schema.qualified(table, "::")), payload} {
		if err := binary.Write(v.in, binary.NativeEndian, uint32(len(part))); err != nil {
			t.Fatal(err)
		}
		if _, err := v.in.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.in.Flush(); err != nil {
		t.Fatal(err)
	}
	answer, err := v.out.ReadByte()
	if err == io.EOF {
		t.Fatalf("the verifier ended while it looked at %x", payload)
	}
	if err != nil || answer == '?' {
		t.Fatalf("the verifier knows no table %s: %v", table, err)
	}
	return answer == 'y'
}
