package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ignex/nova/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// testTime bounds every wait of these tests.
const testTime = 30 * time.Second

// outcome is what one command line did.
type outcome struct {
	code           int
	stdout, stderr string
}

// runNova runs a command line to its end.
func runNova(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, strings.NewReader(stdin), &stdout, &stderr)
	if ctx.Err() != nil {
		t.Errorf("nova %s did not end", strings.Join(args, " "))
	}
	return outcome{code, stdout.String(), stderr.String()}
}

// fails runs a command line that must fail with one line holding each text.
func fails(t *testing.T, code int, args []string, texts ...string) {
	t.Helper()
	got := runNova(t, "", args...)
	lines := strings.Count(got.stderr, "\n") - strings.Count(got.stderr, "\n    ") // but for lines of a schema
	if got.code != code || lines != 1 || got.stdout != "" {
		t.Errorf("nova %s: exit %d, stdout %q, stderr %q; want exit %d and one line", strings.Join(args, " "), got.code, got.stdout, got.stderr, code)
	}
	for _, text := range texts {
		if !strings.Contains(got.stderr, text) {
			t.Errorf("nova %s: stderr %q lacks %q", strings.Join(args, " "), got.stderr, text)
		}
	}
}

// running is a command that was started and goes on.
type running struct {
	stdout *bufio.Scanner
	stderr *syncBuffer
	stop   context.CancelFunc
	code   chan int
}

// syncBuffer may be written and read by two goroutines.
type syncBuffer struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{} // closed by the next write; nil = nobody waits
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return b.buf.Write(p)
}

// next returns a channel that the next write closes.
func (b *syncBuffer) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// start runs a command in the background until the test ends.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	out, in := io.Pipe()
	r := &running{stdout: bufio.NewScanner(out), stderr: &syncBuffer{}, stop: cancel, code: make(chan int, 1)}
	r.stdout.Buffer(nil, 1<<20)
	go func() {
		r.code <- run(ctx, args, strings.NewReader(""), in, r.stderr)
		in.Close()
	}()
	t.Cleanup(func() {
		cancel()
		out.Close()
		r.code <- <-r.code // the command has ended
	})
	return r
}

// line returns the next line of standard output that holds a text.
func (r *running) line(t *testing.T, text string) string {
	t.Helper()
	for r.stdout.Scan() {
		if strings.Contains(r.stdout.Text(), text) {
			return r.stdout.Text()
		}
	}
	t.Fatalf("no line with %q; stderr %q", text, r.stderr)
	return ""
}

// end stops a command like Ctrl-C and returns its exit code.
func (r *running) end(t *testing.T) int {
	t.Helper()
	r.stop()
	for r.stdout.Scan() { // let it write on
	}
	code := <-r.code
	r.code <- code
	return code
}

// startDemo runs nova demo on a free port and returns its address.
func startDemo(t *testing.T, args ...string) (*running, string) {
	t.Helper()
	r := start(t, append([]string{"demo", "--addr", "127.0.0.1:0"}, args...)...)
	return r, strings.TrimSpace(r.line(t, "http://"))
}

// seismic is the path of a file of the example with a week of earthquakes.
func seismic(name string) string { return filepath.Join("..", "..", "examples", "seismic", name) }

// write makes a file in a directory of the test.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const tinySchema = `{
  "package": "tiny",
  "events": {
    "tick": {
      "type": "object",
      "properties": {"name": {"type": "string"}, "n": {"type": "integer"}, "ok": {"type": "boolean"},
        "at": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}, "tags": {"type": "array", "items": {"type": "string"}}},
      "required": ["name", "n"]
    },
    "tock": {"type": "object", "properties": {"ts": {"type": "integer"}}, "required": ["ts"]}
  }
}`

func TestUsage(t *testing.T) {
	fails(t, 2, []string{"demoo"}, `nova: unknown command "demoo"; did you mean "demo"?`)
	fails(t, 2, []string{"xyz", "--addr", ":1"}, `unknown command "xyz"; nova --help lists all`)
	fails(t, 2, []string{"demo", "--adr", ":1"}, "nova demo: unknown flag --adr; did you mean --addr?")
	fails(t, 2, []string{"sub", "--zzzzzz"}, "unknown flag --zzzzzz; nova sub --help lists all")
	fails(t, 2, []string{"sub", "--count", "many"}, `"many"`, "see nova sub --help")
	fails(t, 2, []string{"sub", "--count"}, "needs an argument")
	fails(t, 2, []string{"version", "now"}, `unexpected argument "now"`)
	fails(t, 2, []string{"help", "pubb"}, `unknown command "pubb"; did you mean "pub"?`)
	fails(t, 2, []string{"completion", "csh"}, `there is no completion for "csh"; write one of bash, fish, powershell, zsh`)
	fails(t, 2, []string{"-x"}, "nova: unknown flag -x; nova --help lists all")
	fails(t, 2, []string{"sub", "-t", "x"}, "nova sub: unknown flag -t; nova sub --help lists all")
	fails(t, 1, []string{"check", "nofile.json"}, "schema file nofile.json does not exist; write nova check NEW")
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"help"}, {"help", "pub"}, {"check", "--help"}, {"docs", "--help"}, {"demo", "--help"}, {"generate", "--help"}, {"pub", "--help"}, {"sub", "--help"}, {"version", "--help"},
		{"serve", "--help"}, {"config", "--help"}, {"clients", "--help"}, {"disconnect", "--help"}, {"health", "--help"}, {"call", "--help"}} {
		got := runNova(t, "", args...)
		if got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, "Examples:") {
			t.Errorf("nova %v: exit %d, stderr %q, stdout %s", args, got.code, got.stderr, got.stdout)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := runNova(t, "", "completion", shell); got.code != 0 || !strings.Contains(got.stdout, "nova") {
			t.Errorf("completion %s: %+.200v", shell, got)
		}
	}
}

func TestVersion(t *testing.T) {
	if got := runNova(t, "", "version"); got.code != 0 || !strings.HasPrefix(got.stdout, "nova ") || !strings.Contains(got.stdout, ", wire 2, go") {
		t.Errorf("%+v", got)
	}
	if got, want := runNova(t, "", "--version"), runNova(t, "", "version"); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got := runNova(t, "", "version", "--json"); got.code != 0 || !strings.Contains(got.stdout, `"wire":2`) {
		t.Errorf("%+v", got)
	}
}

// fmt.Stringer of an outcome, for failures.
func (o outcome) String() string {
	return fmt.Sprintf("exit %d\nstdout %s\nstderr %s", o.code, o.stdout, o.stderr)
}
