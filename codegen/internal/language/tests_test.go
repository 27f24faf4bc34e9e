package language

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ignex/nova/codegen"
	"github.com/ignex/nova/schema"
)

// breakCode puts a fault into the encoder of inways: its test has to see it.
func (b *batch) breakCode(t *testing.T) {
	t.Helper()
	path := b.path("inways", "inways_nova.go")
	const right, wrong = "uint64(*m.X)", "uint64(*m.X+1)"
	source := string(readFile(t, path))
	if !strings.Contains(source, right) {
		t.Fatalf("no %s in %s", right, path)
	}
	writeFile(t, path, []byte(strings.Replace(source, right, wrong, 1)))
	cmd := exec.Command("go", "test", "./inways")
	cmd.Dir = b.dir
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "is encoded as") {
		t.Errorf("the test did not see the fault: %v\n%s", err, out)
	}
}

// TestGeneratedTests runs what --tests writes: for the schema that has all of
// the language, and for one whose names are in the way.
func TestGeneratedTests(t *testing.T) {
	b := newBatch(t)
	sources := map[string]string{
		"language": string(readFile(t, "../../testdata/language/schema.json")),
		"inways": `{"package":"inways","$defs":{"TestNovaQuote":{"type":"object","properties":{"x":{"type":"integer"}}}},
			"events":{"quote":{"type":"object","properties":{"a":{"$ref":"#/$defs/TestNovaQuote"}}}}}`,
	}
	for name, source := range sources {
		model, err := schema.Read(name+".json", []byte(source), schema.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b.take(t, name, source, model)
		files, err := codegen.Generate(model, codegen.Options{Targets: []codegen.Target{codegen.Go}, GoTests: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write(codegen.Dirs{codegen.Go: b.path(name)}); err != nil {
			t.Fatal(err)
		}
	}
	b.buildGo(t) // vets it all
	output := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", append([]string{"test"}, args...)...)
		cmd.Dir = b.dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go test %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	tests := output("-v", "./language", "./inways")
	for _, want := range []string{"--- PASS: TestNovaDrawing ", "--- PASS: FuzzNovaExprBox ", "--- PASS: TestNovaMaybeBox ", "--- PASS: TestNovaQuote_ "} {
		if !strings.Contains(tests, want) {
			t.Errorf("no %q in\n%s", want, tests)
		}
	}
	b.breakCode(t)
	if fuzz := output("-run", "^$", "-fuzz", "^FuzzNovaMaps$", "-fuzztime", "300x", "./language"); !strings.Contains(fuzz, "execs: ") {
		t.Errorf("nothing was fuzzed:\n%s", fuzz)
	}
	bench := output("-run", "^$", "-bench", "NovaGrid", "-benchtime", "10x", "./language")
	for _, want := range []string{"BenchmarkNovaGrid/Append", "BenchmarkNovaGrid/Unmarshal", "allocs/op"} {
		if !strings.Contains(bench, want) {
			t.Errorf("no %q in\n%s", want, bench)
		}
	}
}
