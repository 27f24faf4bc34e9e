package golden_test

import (
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ignex/nova/internal/golden"
)

const module = "github.com/ignex/nova"

// listed is what `go list -deps -json` says of one package.
type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Standard   bool
}

// packages lists the module's packages, without their tests, and all they need.
func packages(t *testing.T) map[string]listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Deps,Standard", "./...")
	cmd.Dir = golden.Root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string]listed{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
}

// allowed gives, for each stage, the packages of the module that it may import.
// "" is package nova itself. A package that is not named here must not import
// any other, except commands and examples, which may import all. internal/ws, the
// layout of WebSocket frames, does no I/O: rings hold whole messages.
var allowed = map[string][]string{
	"":              {"wire"},
	"wire":          {},
	"wire/control":  {"wire"},
	"schema":        {"wire"},
	"codegen":       {"schema", "schema/gostruct", "wire", "wire/control"},
	"codegen/docs":  {"codegen", "schema", "wire"},
	"session":       {"wire", "wire/control", "internal/ws"},
	"topiclog":      {"wire"},
	"hub":           {"", "session", "topiclog", "wire", "wire/control", "internal/netturn", "internal/sparse", "internal/ws"},
	"server":        {"", "hub", "session", "wire", "wire/control", "internal/sparse", "internal/uring", "internal/ws"},
	"client":        {"", "session", "wire", "wire/control", "internal/ws"},
	"cluster":       {"", "hub", "wire", "wire/control"},
	"market":        {"", "wire"},
	"jwtauth":       {"", "server"},
	"prommetrics":   {"server"},
	"oteltrace":     {""},
	"codectest":     {"", "wire"},
	"internal/ws":   {},
	"internal/leak": {},
	// Lines of a log that strangers cause.
	"internal/sparse": {},
	// System calls for many sockets, and a turn for the network.
	"internal/uring":   {},
	"internal/netturn": {},
	// Go structs become the document that a schema is.
	"schema/gostruct": {"schema"},
	// A judge of bytes: for tests.
	"internal/golden": {"wire"},
	// A server in memory: for the tests of applications.
	"novatest": {"", "client", "hub", "server"},
	// Drives queues and gates: for tests.
	"session/sim": {"session", "wire"},
	// Logs import the interface, never each other.
	"topiclog/filelog": {"topiclog"},
	"topiclog/logtest": {"topiclog"},
}

// free are the trees that stand at the end of the flow.
var free = []string{"cmd/", "examples/", "codegen/internal/", "wire/control/gen", "conformance", "internal/realserver", "internal/wstest", "e2e", "clients/typescript/test/"}

func TestImportDirection(t *testing.T) {
	for path, p := range packages(t) {
		name, ours := relative(path)
		if !ours || slices.ContainsFunc(free, func(f string) bool { return strings.HasPrefix(name, f) }) {
			continue
		}
		may, known := allowed[name]
		if strings.HasPrefix(name, "topiclog/") { // one implementation of the interface each, and its suite
			may, known = []string{"topiclog", "topiclog/logtest", "wire"}, true
		}
		for _, i := range p.Imports {
			if imported, ours := relative(i); ours && !slices.Contains(may, imported) {
				t.Errorf("package %q imports %q; it may import %q (named by the test: %v)", name, imported, may, known)
			}
		}
	}
}

// relative returns the path inside the module.
func relative(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

// What applications link must stay free of adapters and of test libraries.
func TestNothingHeavyIsLinked(t *testing.T) {
	// The command is an application: nova serve reads a config file and checks tokens.
	ofCommand := []string{"github.com/golang-jwt/", "github.com/MicahParks/", module + "/jwtauth", "github.com/spf13/", "go.yaml.in/"}
	forbidden := append([]string{
		"github.com/nats-io/", "github.com/redis/", "github.com/go-redis/", "github.com/prometheus/", "go.opentelemetry.io/",
		"github.com/google/flatbuffers", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/google/go-cmp",
		module + "/prommetrics", module + "/oteltrace",
		"github.com/stretchr/", "github.com/gorilla/", "github.com/coder/", "github.com/lxzan/",
		"testing", "net/http/httptest", module + "/internal/golden", module + "/internal/leak", module + "/internal/wstest",
	}, ofCommand...)
	all := packages(t)
	checked := 0
	for _, name := range []string{"", "wire", "wire/control", "schema", "codegen", "session", "server", "hub", "client", "topiclog", "market", "internal/ws", "cmd/nova"} {
		p, ok := all[strings.TrimSuffix(module+"/"+name, "/")]
		if !ok {
			continue // the list below makes sure that this is no typing error
		}
		checked++
		for _, dep := range p.Deps {
			for _, f := range forbidden {
				if name == "cmd/nova" && slices.Contains(ofCommand, f) {
					continue
				}
				if dep == f || strings.HasSuffix(f, "/") && strings.HasPrefix(dep, f) || strings.HasPrefix(dep, f+"/") && f != "testing" {
					t.Errorf("package %q reaches %s", name, dep)
				}
			}
		}
	}
	if checked < 12 {
		t.Errorf("only %d of the packages exist", checked)
	}
}

// Package wire does no I/O.
func TestWireDoesNoIO(t *testing.T) {
	all := packages(t)
	for _, name := range []string{"wire", "wire/control", "session"} {
		for _, dep := range all[module+"/"+name].Deps {
			if dep == "net" || dep == "net/http" || dep == "os/exec" || dep == "log" || dep == "log/slog" {
				t.Errorf("package %s reaches %s", name, dep)
			}
		}
	}
}
