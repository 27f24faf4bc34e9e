package schema_test

import (
	"strings"
	"testing"

	"github.com/ignex/nova/schema"
)

// Every problem shows its line with a caret under the place, a long line the
// part around it.
func TestExcerpts(t *testing.T) {
	long := strings.Repeat("ö", 300)
	const before, behind = `","properties":{"a":`, `{"type":"any","description":"`
	for _, c := range []struct{ source, want string }{
		{"{\n  \"package\": \"p\",\n\t\"events\": {\"e\": {\"type\": \"object\", \"properties\": {\"größe\": {\"type\": \"sting\"}}}}\n}",
			"\"events\": {\"e\": {\"type\": \"object\", \"properties\": {\"größe\": {\"type\": \"sting\"}}}}\n" +
				strings.Repeat(" ", 59) + "^"},
		{"{\"package\": \"p\",\r\n\"events\": {}}\r\n", "{\"package\": \"p\",\n^"},
		{`{"package":"p","events":{"e":{"type":"object","description":"` + long + `","properties":{"a":{"type":"any","description":"` + long + `"}}}}}`,
			"…" + strings.Repeat("ö", 60-len(before)) + before + behind + strings.Repeat("ö", 60-len(behind)) + "…\n" + strings.Repeat(" ", 61) + "^"},
	} {
		_, err := schema.Read("s.json", []byte(c.source), schema.Options{})
		problems, ok := err.(schema.Errors)
		if !ok || len(problems) != 1 {
			t.Fatalf("%v", err)
		}
		if got := problems[0].Excerpt; got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
		if want := err.Error() + "\n    " + strings.ReplaceAll(c.want, "\n", "\n    "); problems.Detail() != want {
			t.Errorf("got\n%s\nwant\n%s", problems.Detail(), want)
		}
	}
}
