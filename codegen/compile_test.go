package codegen_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// generated returns the existing files testdata/*/PATTERN, absolute.
func generated(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata/*/%s: %v", pattern, err)
	}
	for i := range files {
		if files[i], err = filepath.Abs(files[i]); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// run runs a tool; silence and exit code 0 are success.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
}

func TestExpectedGoVets(t *testing.T) {
	args := []string{"vet"}
	for _, file := range generated(t, "go/*.go") {
		args = append(args, filepath.Dir(file))
	}
	run(t, ".", "go", args...)
	run(t, ".", "gofmt", append([]string{"-l"}, generated(t, "go/*.go")...)...)
}

func TestExpectedTypeScriptCompiles(t *testing.T) {
	client := filepath.Join(repository(t), "clients", "typescript")
	tsc := filepath.Join(client, "node_modules", ".bin", "tsc")
	if _, err := os.Stat(tsc); err != nil {
		cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund")
		cmd.Dir = client
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("npm ci in clients/typescript: %v\n%s", err, out)
		}
	}
	dir, files := modules(t)
	config, err := json.Marshal(map[string]any{
		"compilerOptions": map[string]any{
			"target": "ES2022", "module": "NodeNext", "moduleResolution": "NodeNext", "lib": []string{"ES2024", "DOM"},
			"types": []string{}, "noEmit": true, "strict": true, "noUncheckedIndexedAccess": true,
			"exactOptionalPropertyTypes": true, "noUnusedLocals": true, "noUnusedParameters": true,
			"verbatimModuleSyntax": true, "isolatedModules": true, "skipLibCheck": true,
			"paths": map[string][]string{"@ignex/nova-client/wire": {filepath.Join(client, "src", "wire", "index.ts")}},
		},
		"files": files,
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "tsconfig.json")
	if err := os.WriteFile(path, config, 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, dir, tsc, "-p", path)
}

// modules copies the expected TypeScript into one folder of ES modules.
func modules(t *testing.T) (dir string, files []string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, file := range generated(t, "ts/index.ts") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Base(filepath.Dir(filepath.Dir(file)))+".ts")
		if err := os.WriteFile(filepath.Join(dir, files[len(files)-1]), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, files
}

// TestExpectedSchemasPassFlatc asks Debian's flatc to read every .fbs, and tsc
// to take the TypeScript that flatc makes of it.
func TestExpectedSchemasPassFlatc(t *testing.T) {
	if _, err := exec.LookPath("flatc"); err != nil {
		t.Fatal("flatc is missing: apt-get install flatbuffers-compiler")
	}
	client := filepath.Join(repository(t), "clients", "typescript")
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(client, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	files := generated(t, "fbs/backend.fbs")
	for _, pkg := range []string{"market", "wire/control", "examples/seismic"} {
		files = append(files, filepath.Join(repository(t), pkg, "backend.fbs"))
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(filepath.Dir(file))) + filepath.Base(filepath.Dir(file))
		run(t, dir, "flatc", "--go", "-o", filepath.Join(dir, "go", name), file)
		run(t, dir, "flatc", "--ts", "-o", filepath.Join(dir, "ts", name), file)
	}
	config := `{"compilerOptions": {"target": "ES2022", "module": "ESNext", "moduleResolution": "bundler", "strict": true,
		"noEmit": true, "types": [], "skipLibCheck": true}, "include": ["ts"]}`
	if err := os.WriteFile(filepath.Join(dir, "tsconfig.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, dir, filepath.Join(client, "node_modules", ".bin", "tsc"), "-p", dir)
}
