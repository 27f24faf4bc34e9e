package schema_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// messagesDoc lists every message, as -update writes it.
const messagesDoc = "../docs/messages.md"

// sections are the parts of the document, with the files whose messages they hold.
var sections = []struct {
	title string
	files []string
}{
	{"The file", []string{"parse.go", "read.go", "document.go"}},
	{"Events, calls and options", []string{"event.go", "options.go"}},
	{"Types", []string{"core.go", "typed.go", "table.go", "wrap.go", "depth.go", "tags.go", "finish.go"}},
	{"Unions and allOf", []string{"union.go", "intersect.go"}},
	{"Constraints", []string{"rules.go", "match.go", "pattern.go"}},
	{"The lock file", []string{"lock.go", "lock_match.go", "lock_model.go", "lock_union.go"}},
	{"Go structs", []string{"gostruct/load.go", "gostruct/check.go", "gostruct/source.go", "gostruct/directive.go", "gostruct/definition.go",
		"gostruct/structure.go", "gostruct/tags.go", "gostruct/value.go", "../codegen/goscope.go"}},
}

// TestMessagesAreDocumented finds every text that the sources of this package, of
// gostruct and of codegen can report as a problem or a warning, and looks it up in the document.
func TestMessagesAreDocumented(t *testing.T) {
	all := slices.Concat(messages(t, "."), messages(t, "gostruct"), messages(t, "../codegen"))
	if len(all) < 180 {
		t.Fatalf("only %d messages were found", len(all))
	}
	var doc strings.Builder
	doc.WriteString(`# Messages

Every problem that a schema or Go structs can have, by where it is looked for. A message has the place in front (file, line, column and JSON pointer, or the place in Go), then what was found, then what to write instead; "…" stands for what is different each time. A test holds that no message is missing here. What the constructs become is in [schema.md](schema.md).
`)
	reported(t, all)
	left := slices.Clone(all)
	for _, s := range sections {
		fmt.Fprintf(&doc, "\n## %s\n\n| found | what to do |\n|---|---|\n", s.title)
		seen := map[string]bool{}
		left = slices.DeleteFunc(left, func(m message) bool {
			row := fmt.Sprintf("| %s | %s |\n", code(m.found), strings.Join(apply(m.fixes, code), " or "))
			if !slices.Contains(s.files, m.file) {
				return false
			}
			if !seen[row] {
				doc.WriteString(row)
			}
			seen[row] = true
			return true
		})
	}
	for _, m := range left {
		t.Errorf("%s: %s: name the section of that file", m.file, m.found)
	}
	if *update {
		if err := os.WriteFile(messagesDoc, []byte(doc.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(messagesDoc)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(doc.String()) {
		if !strings.Contains(string(written), line) {
			t.Errorf("docs/messages.md lacks %s; write it with go test ./schema -run Messages -update", strings.TrimSpace(line))
		}
	}
	if len(written) != doc.Len() && !t.Failed() {
		t.Error("docs/messages.md has messages that are none any more; write it with go test ./schema -run Messages -update")
	}
}

// reported tests that what the cases of refused schemas and structs report is found.
func reported(t *testing.T, all []message) {
	t.Helper()
	var patterns []*regexp.Regexp
	for _, m := range all {
		text := strings.ReplaceAll(regexp.QuoteMeta(m.found), `"…"`, `["'].*["']`)
		patterns = append(patterns, regexp.MustCompile(`: `+strings.ReplaceAll(text, "…", ".*")+`(; |$)`))
	}
	lines := 0
	for _, pattern := range []string{"testdata/refused/*.txt", "../codegen/internal/structs/testdata/*/error.txt"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		place := regexp.MustCompile(`^(warning: )?\S+:\d+:\d+: `)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				line = strings.TrimSpace(line)
				if !place.MatchString(line) || strings.HasSuffix(line, "; correct the syntax") { // which Go's parser tells
					continue
				}
				lines++
				if !slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(line) }) {
					t.Errorf("%s: no message was found that says %s", file, line)
				}
			}
		}
	}
	if lines < 200 {
		t.Errorf("only %d problems are in the cases", lines)
	}
}

func code(text string) string {
	mark := "`"
	if strings.Contains(text, mark) {
		return "`` " + strings.ReplaceAll(text, "|", `\|`) + " ``"
	}
	return mark + strings.ReplaceAll(text, "|", `\|`) + mark
}

func apply(list []string, f func(string) string) []string {
	var out []string
	for _, s := range list {
		out = append(out, f(s))
	}
	return out
}

// message is one text of a problem, and what can stand behind it.
type message struct {
	file, found string
	fixes       []string
}
