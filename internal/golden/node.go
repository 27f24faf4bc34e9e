package golden

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ignex/nova/wire"
)

// Node runs TypeScript: the code that nova generated for a schema, and npm's
// flatbuffers with the classes that flatc generates for it. It serves one
// goroutine and ends with the test.
type Node struct {
	layout *wire.Layout
	in     *bufio.Writer
	out    *bufio.Reader
}

// StartNode bundles module, nova's generated TypeScript, with the classes of
// `flatc --ts`, and starts Node. It needs the development dependencies of
// clients/typescript.
func StartNode(t testing.TB, l *wire.Layout, schema *FBS, module []byte) *Node {
	t.Helper()
	dir := t.TempDir()
	run(t, dir, "apt-get install flatbuffers-compiler", "flatc", "--ts", "--gen-object-api", schema.Path)
	writeFile(t, filepath.Join(dir, "ours.ts"), "%s", module)
	exports := ""
	for _, name := range schema.Tables {
		file := filepath.Join(dir, flatcFile(t, dir, schema, name))
		exports += fmt.Sprintf("export { %sT } from %q;\nexport { %s } from %q;\n", name, file, name, file)
	}
	writeFile(t, filepath.Join(dir, "npm.ts"), "%s", exports)

	root := Root(t)
	client := filepath.Join(root, "clients", "typescript")
	esbuild := filepath.Join(client, "node_modules", ".bin", "esbuild")
	if _, err := os.Stat(esbuild); err != nil {
		t.Fatalf("run `npm ci` in clients/typescript first: %v", err)
	}
	program := filepath.Join(dir, "judge.mjs")
	run(t, client, "npm ci in clients/typescript", esbuild,
		filepath.Join(root, "internal", "golden", "node", "judge.mjs"), "--bundle", "--platform=node", "--format=esm",
		"--outfile="+program, "--log-level=warning",
		"--alias:@ignex/nova-client/wire="+filepath.Join(client, "src", "wire", "index.ts"),
		"--alias:flatbuffers="+filepath.Join(client, "node_modules", "flatbuffers"),
		"--alias:ours="+filepath.Join(dir, "ours.ts"), "--alias:npm="+filepath.Join(dir, "npm.ts"))

	cmd := exec.Command("node", program)
	cmd.Stderr = os.Stderr
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
			t.Errorf("node ended badly: %v", err)
		}
	})
	n := &Node{layout: l, in: bufio.NewWriterSize(in, 1<<20), out: bufio.NewReaderSize(out, 1<<20)}
	n.ask(t, map[string]any{"tables": l.Tables, "enums": l.Enums})
	return n
}

// flatcFile finds the file of a table: flatc writes kebab-case names.
func flatcFile(t testing.TB, dir string, schema *FBS, table string) string {
	t.Helper()
	kebab := ""
	for i, c := range table {
		upper := c >= 'A' && c <= 'Z'
		if upper && i > 0 {
			kebab += "-"
		}
		if upper {
			c += 'a' - 'A'
		}
		kebab += string(c)
	}
	path := filepath.Join(schema.qualified("", "/"), kebab+".ts")
	if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
		t.Fatalf("flatc wrote no class for %s: %v", table, err)
	}
	return path
}

type answer struct {
	Error string          `json:"error"`
	Hex   string          `json:"hex"`
	Value json.RawMessage `json:"value"`
}

func (n *Node) ask(t testing.TB, question any) answer {
	t.Helper()
	text, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.in.Write(append(text, '\n')); err != nil {
		t.Fatal(err)
	}
	if err := n.in.Flush(); err != nil {
		t.Fatal(err)
	}
	line, err := n.out.ReadBytes('\n')
	if err == io.EOF {
		t.Fatalf("node ended while it answered %s", text)
	}
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return a
}

func (n *Node) encode(t testing.TB, op string, table int, v Value) ([]byte, error) {
	t.Helper()
	return n.send(t, map[string]any{"op": op, "table": table, "value": exact(n.layout, table, v)})
}

func (n *Node) send(t testing.TB, question any) ([]byte, error) {
	t.Helper()
	a := n.ask(t, question)
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	payload, err := hex.DecodeString(a.Hex)
	if err != nil {
		t.Fatal(err)
	}
	return payload, nil
}

func (n *Node) decode(t testing.TB, op string, table int, payload []byte) (Value, error) {
	t.Helper()
	a := n.ask(t, map[string]any{"op": op, "table": table, "hex": hex.EncodeToString(payload)})
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	v, err := fromExact(n.layout, table, a.Value)
	if err != nil {
		t.Fatalf("%v in %s", err, a.Value)
	}
	return v, nil
}

// Encode writes v with nova's generated TypeScript.
func (n *Node) Encode(t testing.TB, table int, v Value) ([]byte, error) {
	return n.encode(t, "encode", table, v)
}

// EncodeJSONText writes an empty message whose string field has the text of a JSON
// literal, given without its quotes: it may hold lone surrogates.
func (n *Node) EncodeJSONText(t testing.TB, table int, field, literal string) ([]byte, error) {
	t.Helper()
	v := exact(n.layout, table, Complete(n.layout, table, Value{}))
	v[field] = json.RawMessage(`"` + literal + `"`)
	return n.send(t, map[string]any{"op": "encode", "table": table, "value": v})
}

// Decode reads payload with nova's generated TypeScript.
func (n *Node) Decode(t testing.TB, table int, payload []byte) (Value, error) {
	return n.decode(t, "decode", table, payload)
}

// Check returns the error of reading payload with nova's generated TypeScript,
// where integers beyond ±(2^53−1) are no error.
func (n *Node) Check(t testing.TB, table int, payload []byte) error {
	t.Helper()
	a := n.ask(t, map[string]any{"op": "check", "table": table, "hex": hex.EncodeToString(payload)})
	if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}

// NPMEncode writes v with npm's flatbuffers.
func (n *Node) NPMEncode(t testing.TB, table int, v Value) ([]byte, error) {
	return n.encode(t, "npm-encode", table, v)
}

// NPMDecode reads payload with npm's flatbuffers.
func (n *Node) NPMDecode(t testing.TB, table int, payload []byte) (Value, error) {
	return n.decode(t, "npm-decode", table, payload)
}
