package nova_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// startFiles returns the files that docs/start.md shows, by name.
func startFiles(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("docs/start.md")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)\n`([a-z/.]+)`:\n\n```[a-z]+\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		files[m[1]] = m[2]
	}
	for _, name := range []string{"schema.json", "main.go", "web/main.ts", "web/index.html"} {
		if files[name] == "" {
			t.Fatalf("docs/start.md does not show %s", name)
		}
	}
	return files
}

// runIn runs a program in a folder and returns what it printed.
func runIn(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// The files of docs/start.md compile, Go and TypeScript, as a module of their own.
func TestStartGuide(t *testing.T) {
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range startFiles(t) {
		writeFile(t, filepath.Join(dir, name), text)
	}
	runIn(t, ".", "go", "run", "./cmd/nova", "generate", "--schema", filepath.Join(dir, "schema.json"),
		"--go", filepath.Join(dir, "chat"), "--ts", filepath.Join(dir, "web/chat"))

	writeModule(t, dir, root)
	runIn(t, dir, "go", "vet", "-mod=mod", "./...")

	modules := filepath.Join(root, "clients/typescript/node_modules")
	if _, err := os.Stat(modules); err != nil {
		runIn(t, ".", "npm", "--prefix", "clients/typescript", "ci", "--no-audit", "--no-fund")
	}
	writeFile(t, filepath.Join(dir, "web/readme.ts"), "import { connect } from \"@ignex/nova-client\";\nimport { message, schema } from \"./chat/index.js\";\n"+
		"declare function render(text: string): void;\n"+block(t, "README.md", "ts"))
	writeFile(t, filepath.Join(dir, "tsconfig.json"), `{ "compilerOptions": { "strict": true, "noEmit": true, "target": "ES2022", "module": "ESNext",
  "moduleResolution": "Bundler", "lib": ["ES2023", "DOM", "DOM.Iterable"], "skipLibCheck": true, "types": [], "allowImportingTsExtensions": true,
  "paths": { "@ignex/nova-client": ["`+root+`/clients/typescript/src/index.ts"], "@ignex/nova-client/*": ["`+root+`/clients/typescript/src/*/index.ts"] } },
  "include": ["web"] }`)
	runIn(t, dir, filepath.Join(modules, ".bin", "tsc"), "-p", dir)
	runIn(t, dir, filepath.Join(modules, ".bin", "esbuild"), "web/main.ts", "--bundle", "--format=esm", "--log-level=error", "--outfile=web/main.js")
}

// The Go structs of docs/schema.md generate, and what is generated compiles.
func TestGoStructsOfTheDocument(t *testing.T) {
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "events/events.go"), block(t, "docs/schema.md", "go"))
	writeModule(t, dir, root)
	nova := filepath.Join(dir, "nova")
	runIn(t, ".", "go", "build", "-o", nova, "./cmd/nova")
	runIn(t, dir, nova, "generate", "./events", "--ts", "web/src/events")
	runIn(t, dir, "go", "vet", "-mod=mod", "./...")
}

// writeModule makes dir a module beside that in root, which needs what that one needs:
// nothing is fetched.
func writeModule(t *testing.T, dir, root string) {
	t.Helper()
	mod := strings.Replace(readFile(t, "go.mod"), "module github.com/ignex/nova\n", "module example.com/hello\n", 1) +
		"\nrequire github.com/ignex/nova v0.0.0\nreplace github.com/ignex/nova => " + root + "\n"
	writeFile(t, filepath.Join(dir, "go.mod"), mod)
	writeFile(t, filepath.Join(dir, "go.sum"), readFile(t, "go.sum"))
}

// What the README shows of the guide is in the guide.
func TestReadmeShowsTheGuide(t *testing.T) {
	files := startFiles(t)
	if block(t, "README.md", "json") != files["schema.json"] {
		t.Error("the schema in README.md is not that of docs/start.md")
	}
	rest := files["main.go"]
	for line := range strings.Lines(block(t, "README.md", "go")) {
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("main.go in docs/start.md has no line, behind those before it:\n%s", line)
		}
		rest = after
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
