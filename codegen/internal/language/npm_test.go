package language

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ignex/nova/schema"
	"github.com/ignex/nova/wire"
)

// TestNPMReadsEveryKind holds values of every row of the mapping table against npm's
// flatbuffers: alone, in arrays, in maps, in unions, and where they can be absent.
func TestNPMReadsEveryKind(t *testing.T) {
	seed := fromEnv(t, "NOVA_SEED", rand.Uint64()>>1)
	t.Logf("seed %d", seed)
	b := newBatch(t)
	for _, name := range []string{"kinds", "language"} {
		if !b.add(t, name, string(readFile(t, "../../testdata/"+name+"/schema.json"))) {
			t.Fatal("refused: " + name)
		}
	}
	samples := b.draw(t, drawer{rand.New(rand.NewPCG(seed, 0))}, 30)
	b.checkCode(t, samples)
	b.checkNPM(t, samples)
	seen := map[string]bool{}
	for _, s := range b.schemas {
		for _, table := range s.model.Tables {
			for _, f := range table.Fields {
				mark(seen, table, f)
			}
		}
	}
	missing := slices.DeleteFunc(slices.Clone(mappingRows), func(row string) bool { return seen[row] })
	if len(missing) > 0 {
		t.Errorf("no values of %q were judged", missing)
	}
}

// mappingRows are the rows of the mapping table, as mark finds them in a model.
var mappingRows = []string{"string", "double", "int64", "bigint", "bool", "enum", "numbers", "table", "bytes", "float", "int8", "int16", "int32",
	"uint8", "uint16", "uint32", "uint64", "union", "array of double", "array of string", "array of bool", "array of enum", "array of table",
	"array of int64", "array of float", "array of uint64", "array of arrays", "array of bytes", "array of maps", "array of unions", "map of double",
	"map of table", "map of union", "map of arrays", "map of maps", "map of bytes", "optional union", "nullable union", "optional table",
	"optional string", "optional bytes", "optional array", "optional map", "optional enum", "nullable string", "nullable table", "nullable int64",
	"root that is a union", "root that is an array", "root that is a string", "root that is a map", "root that is null", "recursion by an array",
	"recursion by an optional", "recursion by a union"}

func mark(seen map[string]bool, t *schema.Table, f *schema.Field) {
	what := f.Kind.String()
	switch {
	case f.Deprecated || f.Kind == wire.UnionType:
		return
	case f.BigInt && f.Kind == wire.Int64:
		what = "bigint"
	case len(f.Numbers) > 0:
		what = "numbers"
	case f.Map:
		what = "map"
	case f.Kind == wire.Struct && f.Table.Shape == schema.Box:
		what = "union"
	}
	plural := map[string]string{"union": "unions", "bytes": "bytes", "map": "maps", "array": "arrays"}
	inner := func(t *schema.Table) string { // what a row or an entry holds
		last := t.Fields[len(t.Fields)-1]
		switch {
		case last.Map:
			return "maps"
		case last.Kind == wire.Bytes:
			return "bytes"
		case last.Vector:
			return "arrays"
		}
		return last.Kind.String()
	}
	presence := map[wire.Presence]string{wire.Optional: "optional ", wire.Nullable: "nullable "}[f.Presence]
	switch {
	case f.Map:
		seen["map of "+inner(f.Table)], seen[presence+"map"] = true, true
	case f.Vector && f.Kind == wire.Struct && f.Table.Shape == schema.Row:
		seen["array of "+inner(f.Table)], seen[presence+"array"] = true, true
	case f.Vector && plural[what] != "":
		seen["array of "+plural[what]] = true
	case f.Vector:
		seen["array of "+what], seen[presence+"array"] = true, true
	default:
		seen[what], seen[presence+what] = true, true
	}
	if t.Shape == schema.Box {
		seen["root that is "+map[bool]string{true: "an array", false: "a " + what}[f.Vector && !f.Map]] = true
		seen["root that is null"] = seen["root that is null"] || f.Presence == wire.Nullable
	}
	switch {
	case f.Table == t && f.Vector:
		seen["recursion by an array"] = true
	case f.Table == t:
		seen["recursion by an optional"] = true
	case f.Union != nil && slices.ContainsFunc(f.Union.Members, func(m schema.UnionMember) bool { return m.Table == t }):
		seen["recursion by a union"] = true
	}
}

// checkNPM compares with npm's flatbuffers and the classes that flatc makes of the
// .fbs: they read our bytes, and ours read what they write.
func (b *batch) checkNPM(t *testing.T, samples []*sample) {
	t.Helper()
	var input bytes.Buffer
	for _, s := range samples {
		fmt.Fprintf(&input, "%s %s %x %s\n", s.of.name, s.event.Table.FbsName, s.payload, s.exact(t))
	}
	cmd := exec.Command("node", b.buildNPM(t))
	cmd.Stdin, cmd.Stderr = &input, os.Stderr
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil || len(lines) != len(samples) {
		t.Fatalf("npm flatbuffers: %v; %d lines for %d values", err, len(lines), len(samples))
	}
	var theirs []*sample
	for i, line := range lines {
		s := samples[i]
		written, read, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("npm flatbuffers: %s\n%s\n%s", line, s.nova, s.of.source)
		}
		if !sameJSON(t, []byte(read), s.exact(t)) {
			t.Fatalf("npm flatbuffers read\n%s\nwant\n%s\n%s\n%x\n%s", read, s.exact(t), s.nova, s.payload, s.of.source)
		}
		payload, err := hex.DecodeString(written)
		if err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		text, err := s.of.layout.AppendJSON(nil, s.of.layout.EventByName(s.event.Name).Table, payload)
		if err != nil || !sameJSON(t, text, s.nova) {
			t.Fatalf("of npm's bytes: %v\n%s\nwant\n%s\n%x\n%s", err, text, s.nova, payload, s.of.source)
		}
		theirs = append(theirs, &sample{of: s.of, event: s.event, payload: payload})
	}
	for name, lines := range map[string][]string{"Go": ask(t, theirs, b.program), "TypeScript": ask(t, theirs, "node", b.script)} {
		for i, line := range lines {
			if again, _, _ := strings.Cut(line, "\t"); again != hex.EncodeToString(samples[i].payload) {
				t.Fatalf("%s made\n%s\nof npm's bytes\n%x\nwant\n%x\n%s", name, line, theirs[i].payload, samples[i].payload, samples[i].of.source)
			}
		}
	}
}

// exact is the value in flatc's form, with integers as text: JavaScript reads no JSON
// number beyond 2^53.
func (s *sample) exact(t *testing.T) []byte {
	t.Helper()
	text, err := json.Marshal(asText(s.flat))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func asText(v any) any {
	switch v := v.(type) {
	case *ordered:
		out := &ordered{keys: v.keys}
		for _, x := range v.values {
			out.values = append(out.values, asText(x))
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, asText(x))
		}
		return out
	case json.Number:
		return v.String()
	}
	return v
}

// buildNPM bundles flatc's classes for all schemas with a program that reads and
// writes by them.
func (b *batch) buildNPM(t *testing.T) string {
	t.Helper()
	client := filepath.Join(b.root, "clients", "typescript")
	var imports, models strings.Builder
	for _, s := range b.schemas {
		dir := b.path(s.name, "npm")
		command(t, b.dir, "flatc", "--ts", "-o", dir, b.path(s.name, "backend.fbs"))
		files, err := filepath.Glob(filepath.Join(dir, "*.ts"))
		if err != nil || len(files) == 0 {
			t.Fatalf("flatc wrote no classes: %v", err)
		}
		all := ""
		for _, file := range files {
			all += fmt.Sprintf("export * from %q;\n", "./"+filepath.Base(file))
		}
		writeFile(t, b.path(s.name, "npm", "every class.ts"), []byte(all))
		text, err := json.Marshal(described(s.model))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&imports, "import * as %s from %q;\n", s.name, "./"+s.name+"/npm/every class.ts")
		fmt.Fprintf(&models, "%s: { classes: %s, tables: %s },\n", s.name, s.name, text)
	}
	program := b.write(t, "npm.mjs", imports.String()+fmt.Sprintf(npmScript, models.String()))
	bundle := b.path("npm bundle.mjs")
	command(t, b.dir, filepath.Join(client, "node_modules", ".bin", "esbuild"), program, "--bundle", "--platform=node", "--format=esm",
		"--log-level=error", "--alias:flatbuffers="+filepath.Join(client, "node_modules", "flatbuffers"), "--outfile="+bundle)
	return bundle
}

// npmField is what the program has to know of a field.
type npmField struct {
	Name    string           `json:"name"` // in the .fbs
	ID      int              `json:"id"`
	Kind    string           `json:"kind"`
	Vector  bool             `json:"vector"`
	Table   string           `json:"table,omitempty"`
	Enum    map[string]int32 `json:"enum,omitempty"`
	Members map[string]int   `json:"members,omitempty"` // of a union
}

// described tells of each table, by its name in the .fbs, what fields it has.
func described(m *schema.Model) map[string][]npmField {
	tables := map[string][]npmField{}
	for _, table := range m.Tables {
		list := []npmField{}
		for _, f := range table.Fields {
			if f.Deprecated || f.Kind == wire.UnionType {
				continue
			}
			x := npmField{Name: f.FbsName, ID: f.ID, Kind: f.Kind.String(), Vector: f.Vector, Enum: map[string]int32{}, Members: map[string]int{}}
			if f.Table != nil {
				x.Table = f.Table.FbsName
			}
			if f.Enum != nil {
				for _, v := range f.Enum.Values {
					x.Enum[v.FbsName] = v.Number
				}
			}
			if f.Union != nil {
				for _, member := range f.Union.Members {
					x.Members[member.Table.FbsName] = member.Number
				}
			}
			list = append(list, x)
		}
		tables[table.FbsName] = list
	}
	return tables
}

// npmScript reads lines "SCHEMA TABLE HEX JSON": it writes the JSON with flatc's
// builders and reads the bytes with flatc's accessors, and answers both.
const npmScript = `
import { createInterface } from "node:readline";
import { Builder, ByteBuffer } from "flatbuffers";

const models = {
%s};
// flatc's own rule: what stands behind an underscore becomes a capital.
function camel(name) {
  let out = "";
  for (let i = 0; i < name.length; i++) out += name[i] === "_" && i + 1 < name.length ? name[++i].toUpperCase() : name[i];
  return out;
}
function method(object, name) {
  const found = object[name + "_"] ?? object[name]; // a keyword has an underscore
  if (typeof found !== "function") throw new Error("flatc wrote no " + name);
  return found.bind(object);
}
const nameOf = (numbers, number) => Object.keys(numbers).find((name) => numbers[name] === number);
const wide = (kind) => kind === "int64" || kind === "uint64";

function read(model, name, object) {
  const out = {};
  for (const f of model.tables[name]) {
    const at = object.bb.__offset(object.bb_pos, 4 + 2 * f.id);
    const get = method(object, camel(f.name));
    if (f.kind === "union") {
      if (at === 0) continue;
      const member = nameOf(f.members, method(object, camel(f.name + "_type"))());
      out[f.name + "_type"] = member;
      out[f.name] = read(model, member, get(new model.classes[member]()));
      continue;
    }
    const one = (v) => f.kind === "table" ? read(model, f.table, v)
      : f.kind === "enum" ? nameOf(f.enum, v)
      : /int/.test(f.kind) ? String(v) : v;
    if (f.kind === "bytes" && !f.vector) {
      if (at !== 0) out[f.name] = [...method(object, camel(f.name + "_array"))()];
    } else if (f.vector) {
      if (at === 0) continue;
      const list = [];
      for (let i = 0; i < method(object, camel(f.name + "_length"))(); i++) list.push(one(get(i)));
      out[f.name] = list;
    } else {
      const v = get();
      if (v !== null) out[f.name] = one(v);
    }
  }
  return out;
}

function write(model, name, value, builder) {
  const type = model.classes[name];
  const scalar = (f, v) => f.kind === "enum" ? f.enum[v] : wide(f.kind) ? BigInt(v) : /int/.test(f.kind) ? Number(v) : v;
  const one = (f, v) => f.kind === "table" ? write(model, f.table, v, builder) : f.kind === "string" ? builder.createString(v) : scalar(f, v);
  const refs = {};
  for (const f of model.tables[name]) {
    const v = value[f.name];
    if (v === undefined) continue;
    if (f.kind === "union") refs[f.name] = write(model, value[f.name + "_type"], v, builder);
    else if (f.vector) refs[f.name] = method(type, camel("create_" + f.name + "_vector"))(builder, v.map((x) => one(f, x)));
    else if (f.kind === "bytes") refs[f.name] = method(type, camel("create_" + f.name + "_vector"))(builder, v);
    else refs[f.name] = one(f, v);
  }
  method(type, "start" + name)(builder);
  for (const f of model.tables[name]) {
    if (refs[f.name] === undefined) continue;
    if (f.kind === "union") method(type, camel("add_" + f.name + "_type"))(builder, f.members[value[f.name + "_type"]]);
    method(type, camel("add_" + f.name))(builder, refs[f.name]);
  }
  return method(type, "end" + name)(builder);
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const [, schema, table, hex, json] = /^(\S+) (\S+) (\S+) (.*)$/.exec(line);
  const model = models[schema];
  try {
    const bytes = Uint8Array.from(Buffer.from(hex, "hex"));
    const root = method(model.classes[table], "getSizePrefixedRootAs" + table)(new ByteBuffer(bytes));
    const builder = new Builder();
    builder.forceDefaults(true); // otherwise an optional 0 is left out
    builder.finish(write(model, table, JSON.parse(json), builder), undefined, true);
    console.log(Buffer.from(builder.asUint8Array()).toString("hex") + "\t" + JSON.stringify(read(model, table, root)));
  } catch (error) {
    console.log(String(error.stack).replaceAll("\n", " "));
  }
}
`
