package nova_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ignex/nova/market"
)

// block returns the first fenced block of that language in a document.
func block(t *testing.T, file, language string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatalf("%s has no %s block", file, language)
	}
	return string(m[1])
}

func documentedQuote() *market.Quote {
	return &market.Quote{Symbol: "AAPL", Bid: 189.5, Ask: 189.52, BidSize: 300, AskSize: 200, Ts: 1767225600000}
}

func TestProtocolDocumentShowsTheBytesOfOneFrame(t *testing.T) {
	want := strings.Join(strings.Fields(block(t, "docs/protocol.md", "hex")), "")
	frame, err := market.QuoteEvent.AppendFrame(nil, documentedQuote())
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(frame); got != want {
		t.Errorf("docs/protocol.md shows\n%s\nthe encoder writes\n%s", want, got)
	}
}

// The Node snippet runs as it stands, with flatc's classes and npm flatbuffers.
func TestProtocolDocumentDecodesAFrameInNode(t *testing.T) {
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	modules, err := filepath.Abs("clients/typescript/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(modules); err != nil {
		run("npm", "--prefix", "clients/typescript", "ci", "--no-audit", "--no-fund")
	}
	run("flatc", "--ts", "-o", dir, "market/backend.fbs")
	frame, err := market.QuoteEvent.AppendFrame(nil, documentedQuote())
	if err != nil {
		t.Fatal(err)
	}
	registry, err := os.ReadFile("market/wire-registry.json")
	if err != nil {
		t.Fatal(err)
	}
	hexFrame, err := json.Marshal(hex.EncodeToString(frame))
	if err != nil {
		t.Fatal(err)
	}
	program := `import { ByteBuffer } from "flatbuffers";
import { Quote } from "./quote.js";
const registry = ` + string(registry) + `;
const frame = Buffer.from(` + string(hexFrame) + `, "hex");
` + block(t, "docs/protocol.md", "js")
	for name, text := range map[string]string{"run.ts": program, "package.json": `{"type":"module"}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	run(filepath.Join(modules, ".bin", "esbuild"), filepath.Join(dir, "run.ts"), "--bundle", "--platform=node",
		"--resolve-extensions=.ts,.js", "--format=esm", "--log-level=error", "--outfile="+filepath.Join(dir, "run.mjs"))
	if got, want := strings.TrimSpace(run("node", filepath.Join(dir, "run.mjs"))), "AAPL 189.5 189.52"; got != want {
		t.Errorf("the snippet printed %q, want %q", got, want)
	}
}
