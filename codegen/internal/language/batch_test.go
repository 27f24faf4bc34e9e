package language

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ignex/nova/codegen"
	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// batch is a number of schemas whose code is built and asked at once.
type batch struct {
	dir     string
	root    string // of the repository
	schemas []*drawn

	program, script string // of Go and TypeScript, once they are built
}

// drawn is one schema with what was generated from it.
type drawn struct {
	name   string
	source string
	model  *schema.Model
	layout *wire.Layout
}

// sample is a random value of one event.
type sample struct {
	of      *drawn
	event   *schema.Event
	nova    []byte // JSON
	flat    any
	payload []byte
	verdict string // of Validate
}

func newBatch(t *testing.T) *batch {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return &batch{dir: t.TempDir(), root: root}
}

// add reads and generates a schema; it reports whether the schema is accepted.
func (b *batch) add(t *testing.T, name, source string) bool {
	t.Helper()
	model, err := schema.Read(name+".json", []byte(source), schema.Options{})
	if err != nil {
		return false
	}
	b.take(t, name, source, model)
	return true
}

// take generates the code of a model.
func (b *batch) take(t *testing.T, name, source string, model *schema.Model) *drawn {
	t.Helper()
	layout, err := model.Layout()
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	files, err := codegen.Generate(model, codegen.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	if _, err := files.Write(codegen.Dirs{codegen.Go: b.path(name), codegen.TypeScript: b.path(name), codegen.FBS: b.path(name)}); err != nil {
		t.Fatal(err)
	}
	b.schemas = append(b.schemas, &drawn{name, source, model, layout})
	return b.schemas[len(b.schemas)-1]
}

func (b *batch) path(parts ...string) string {
	return filepath.Join(append([]string{b.dir}, parts...)...)
}

func (b *batch) write(t *testing.T, name, text string) string {
	t.Helper()
	path := b.path(name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// buildGo vets the generated packages and builds a program that decodes and
// encodes, in a module that stands on this one.
func (b *batch) buildGo(t *testing.T) string {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join(b.root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(b.root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(mod), "module github.com/ignex/nova\n", "module drawn\n", 1)
	b.write(t, "go.mod", text+"\nrequire github.com/ignex/nova v0.0.0\n\nreplace github.com/ignex/nova => "+b.root+"\n")
	b.write(t, "go.sum", string(sum))
	var imports, entries strings.Builder
	for _, s := range b.schemas {
		fmt.Fprintf(&imports, "%q\n", "drawn/"+s.name)
		for _, e := range s.model.Events {
			fmt.Fprintf(&entries, "%q: again[%s.%s],\n", s.name+" "+e.Name, s.name, e.Table.Name)
		}
	}
	b.write(t, "main.go", fmt.Sprintf(driver, imports.String(), entries.String()))
	command(t, b.dir, "go", "vet", "./...")
	command(t, b.dir, "go", "build", "-o", "drawn", ".")
	return b.path("drawn")
}

const driver = `package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ignex/nova"
	"github.com/ignex/nova/wire"
%s)

// again reads a payload and answers three columns: its bytes written again, what
// Validate says, and how encoding/json shows the value. An error to read it stands
// alone after !read, one to write it after !write.
func again[T any, M nova.Message[T]](payload []byte) string {
	m := M(new(T))
	if err := m.UnmarshalNova(payload); err != nil {
		return "!read " + err.Error()
	}
	if err := m.CheckInt64(); err != nil {
		return "!read " + err.Error()
	}
	verdict := "valid"
	if v, ok := any(m).(interface{ Validate() error }); ok {
		var broken *wire.ValidationError
		if err := v.Validate(); errors.As(err, &broken) {
			verdict = hex.EncodeToString([]byte(broken.Pointer)) + " " + broken.Message
		} else if err != nil {
			verdict = err.Error()
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		return "!json " + err.Error()
	}
	written := ""
	if b, err := m.AppendNova(nil); err != nil {
		written = "!write " + err.Error()
	} else {
		written = hex.EncodeToString(b)
	}
	return written + "\t" + verdict + "\t" + string(text)
}

func main() {
	events := map[string]func([]byte) string{
%s	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		cut := strings.LastIndexByte(lines.Text(), ' ')
		payload, err := hex.DecodeString(lines.Text()[cut+1:])
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(events[lines.Text()[:cut]](payload))
	}
}
`

// buildTypeScript compiles the modules strictly and bundles a program that
// decodes, prints and encodes.
func (b *batch) buildTypeScript(t *testing.T) string {
	t.Helper()
	client := filepath.Join(b.root, "clients", "typescript")
	runtime := filepath.Join(client, "src", "wire", "index.ts")
	var files []string
	var imports, table, validators strings.Builder
	for _, s := range b.schemas {
		files = append(files, s.name+"/index.ts")
		fmt.Fprintf(&imports, "import * as %s from \"./%s/index.js\";\n", s.name, s.name)
		fmt.Fprintf(&table, "%s, ", s.name)
		for _, e := range s.model.Events {
			fmt.Fprintf(&validators, "[%q, %s.validate%s], ", s.name+" "+e.Name, s.name, e.Table.Name)
		}
	}
	b.write(t, "package.json", `{"type":"module"}`)
	judge := b.write(t, "judge.mjs", imports.String()+fmt.Sprintf(judgeScript, table.String(), validators.String()))
	config, err := json.Marshal(map[string]any{"compilerOptions": map[string]any{
		"target": "ES2022", "module": "NodeNext", "moduleResolution": "NodeNext", "lib": []string{"ES2024", "DOM"}, "types": []string{},
		"noEmit": true, "strict": true, "noUncheckedIndexedAccess": true, "exactOptionalPropertyTypes": true, "noUnusedLocals": true,
		"verbatimModuleSyntax": true, "isolatedModules": true, "skipLibCheck": true,
		"paths": map[string][]string{"@ignex/nova-client/wire": {runtime}}}, "files": files})
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, "tsconfig.json", string(config))
	command(t, b.dir, filepath.Join(client, "node_modules", ".bin", "tsc"), "-p", b.path("tsconfig.json"))
	bundle := b.path("bundle.mjs")
	command(t, b.dir, filepath.Join(client, "node_modules", ".bin", "esbuild"), judge, "--bundle", "--platform=node", "--format=esm",
		"--log-level=error", "--alias:@ignex/nova-client/wire="+runtime, "--outfile="+bundle)
	return bundle
}

const judgeScript = `
import { createInterface } from "node:readline";
import { Reader, Writer } from "@ignex/nova-client/wire";

const events = new Map([%s].flatMap(({ schema }) => schema.events.map((e) => [schema.name + " " + e.name, e])));
const validators = new Map([%s]);
const plain = (v) => typeof v === "bigint" ? String(v) : v instanceof Uint8Array ? Buffer.from(v).toString("base64")
  : Array.isArray(v) ? v.map(plain)
  : v && typeof v === "object" ? Object.entries(v).filter(([, x]) => x !== undefined).map(([k, x]) => [k, plain(x)])
      .reduce((o, [k, x]) => (Object.defineProperty(o, k, { value: x, enumerable: true, configurable: true }), o), {})
  : v;
for await (const line of createInterface({ input: process.stdin })) {
  const [, name, hex] = /^(.*) (\S+)$/.exec(line);
  const bytes = Uint8Array.from(Buffer.from(hex, "hex"));
  try {
    const { table } = events.get(name);
    const value = new Reader().payload(new DataView(bytes.buffer), 0, bytes.length, table);
    const broken = validators.get(name)?.(value);
    const verdict = broken ? Buffer.from(broken.pointer).toString("hex") + " " + broken.message : "valid";
    let written;
    try {
      written = Buffer.from(new Writer().payload(table, value)).toString("hex");
    } catch (error) {
      written = "!write " + error.message;
    }
    console.log(written + "\t" + verdict + "\t" + JSON.stringify(plain(value) ?? null));
  } catch (error) {
    console.log("!read " + String(error.stack).replaceAll("\n", " "));
  }
}
`

// ask runs a program over all samples and returns a line for each.
func ask(t *testing.T, samples []*sample, name string, args ...string) []string {
	t.Helper()
	var input bytes.Buffer
	for _, s := range samples {
		fmt.Fprintf(&input, "%s %s %x\n", s.of.name, s.event.Name, s.payload)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdin, cmd.Stderr = &input, os.Stderr
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil || len(lines) != len(samples) {
		t.Fatalf("%s: %v; %d lines for %d values", name, err, len(lines), len(samples))
	}
	return lines
}
