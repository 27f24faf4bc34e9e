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

// place is where a problem stands, in front of its message.
var place = regexp.MustCompile(`^\S+:\d+:\d+: (/\S*?: )?`)

// TestRefusalsAreDocumented has docs/refused.md show every construct that is refused,
// with the message people get: whoever looks for one finds it.
func TestRefusalsAreDocumented(t *testing.T) {
	var out strings.Builder
	out.WriteString("# What is refused, message by message\n\n" +
		"Every message of `nova generate` that says no, with a schema that brings it. [schema.md](schema.md#what-is-refused) says in general what to write instead. " +
		"The page is written by a test (`go test ./schema -run TestRefusalsAreDocumented -update`) from the cases that are tested.\n")
	files, err := filepath.Glob("testdata/refused/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		fmt.Fprintf(&out, "\n## %s\n\n| | | nova says |\n|---|---|---|\n", strings.ToUpper(name[:1])+name[1:])
		for _, c := range strings.Split(string(data), "=== ")[1:] {
			title, rest, _ := strings.Cut(c, "\n")
			src, want, _ := strings.Cut(rest, "---\n")
			messages := refusals(want)
			if len(messages) == 0 {
				continue
			}
			src = strings.Join(strings.Fields(strings.TrimPrefix(src, "field: ")), " ")
			if runes := []rune(src); len(runes) > 160 {
				src = string(runes[:160]) + "…"
			}
			fmt.Fprintf(&out, "| %s | %s | %s |\n", cell(title), code(src), strings.Join(messages, "<br>"))
		}
	}
	out.WriteString("\n## Go structs\n\n| nova says |\n|---|\n")
	folders, err := filepath.Glob("../codegen/internal/structs/testdata/*/error.txt")
	if err != nil || len(folders) == 0 {
		t.Fatal("no cases of structs", err)
	}
	var all []string
	for _, file := range folders {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, refusals(string(data))...)
	}
	slices.Sort(all)
	for _, m := range slices.Compact(all) {
		out.WriteString("| " + m + " |\n")
	}
	const page = "../docs/refused.md"
	if *update {
		if err := os.WriteFile(page, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != out.String() {
		t.Error("docs/refused.md is not what the cases say: run this test with -update")
	}
}

// refusals are the messages of a case without their places, those of warnings and
// accepted documents left out.
func refusals(text string) (list []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !place.MatchString(line) {
			continue
		}
		if m := cell(place.ReplaceAllString(line, "")); !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// cell is text that Markdown shows as it is in a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "`", "\\`").Replace(text)
}

func code(text string) string {
	if strings.Contains(text, "`") {
		return cell(text)
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}
