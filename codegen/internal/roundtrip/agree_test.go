package roundtrip

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	kinds "github.com/ignex/nova/codegen/testdata/kinds/go"
)

// sample is a random value of one event as the generated Go encodes it.
type sample struct {
	event   string
	payload []byte
}

func samples(t *testing.T, n int) []sample {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	gen := generator{Rand: rand.New(rand.NewPCG(seed, 3)), plain: true}
	byTable := map[string]reflect.Type{}
	for _, m := range messages() {
		typ := reflect.TypeOf(m).Elem()
		byTable[typ.Name()] = typ
	}
	layout := kinds.Schema.Layout()
	var list []sample
	for i := range layout.Events {
		e := &layout.Events[i]
		for range n {
			in := gen.value(byTable[layout.Tables[e.Table].Name]).Interface().(message)
			payload, err := in.AppendNova(nil)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, sample{e.Name, payload})
		}
	}
	return list
}

func TestSchemaDrivenCodecWritesTheSameBytes(t *testing.T) {
	layout := kinds.Schema.Layout()
	for _, s := range samples(t, 300) {
		table := layout.EventByName(s.event).Table
		text, err := layout.AppendJSON(nil, table, s.payload)
		if err != nil {
			t.Fatalf("%s: % x: %v", s.event, s.payload, err)
		}
		again, err := layout.EncodeJSON(nil, table, text)
		if err != nil || !bytes.Equal(again, s.payload) {
			t.Fatalf("%s: %s: %v\n% x\n% x", s.event, text, err, again, s.payload)
		}
	}
}

func TestTypeScriptWritesTheSameBytes(t *testing.T) {
	client := filepath.Join("..", "..", "..", "clients", "typescript")
	esbuild := filepath.Join(client, "node_modules", ".bin", "esbuild")
	if _, err := os.Stat(esbuild); err != nil {
		t.Fatal("esbuild is missing: run npm ci in clients/typescript")
	}
	bundle := filepath.Join(t.TempDir(), "judge.mjs")
	wire, err := filepath.Abs(filepath.Join(client, "src", "wire", "index.ts"))
	if err != nil {
		t.Fatal(err)
	}
	generated, err := filepath.Abs(filepath.Join("..", "..", "testdata", "kinds", "ts", "index.ts"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(esbuild, "judge.mjs", "--bundle", "--platform=node", "--format=esm", "--log-level=warning",
		"--alias:@ignex/nova-client/wire="+wire, "--alias:generated="+generated, "--outfile="+bundle).CombinedOutput(); err != nil {
		t.Fatalf("bundle: %v\n%s", err, out)
	}
	list := samples(t, 300)
	var input bytes.Buffer
	for _, s := range list {
		fmt.Fprintf(&input, "%s %x\n", s.event, s.payload)
	}
	node := exec.Command("node", bundle)
	node.Stdin = &input
	out, err := node.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for _, s := range list {
		if !lines.Scan() {
			t.Fatal("node printed too few lines")
		}
		if got := lines.Text(); got != hex.EncodeToString(s.payload) {
			t.Fatalf("%s: in  %x\nout %s", s.event, s.payload, got)
		}
	}
}
