package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestSub(t *testing.T) {
	schema := write(t, "tiny.json", tinySchema)
	_, url := startDemo(t, "--schema", schema)
	for i := range 3 {
		for _, args := range [][]string{{"pub", "tick", fmt.Sprintf(`{"name":"<a>","n":%d}`, i), "--topic", "t"}, {"pub", "tock", fmt.Sprintf(`{"ts":%d}`, i), "--topic", "t"}} {
			if got := runNova(t, "", append(args, "--url", url)...); got.code != 0 {
				t.Fatal(got)
			}
		}
	}
	got := runNova(t, "", "sub", "tock", "--url", url, "--schema", schema, "--topic", "t", "--count", "3", "--json")
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	if got.code != 0 || len(lines) != 3 {
		t.Fatal(got)
	}
	for i, line := range lines {
		var v struct {
			Event, Topic string
			Seq, Offset  int
			Data         struct{ TS int }
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil || v.Event != "tock" || v.Data.TS != i || v.Topic != "t" || v.Offset != 2*i+2 || v.Seq <= v.Offset {
			t.Errorf("line %d: %s %v", i, line, err)
		}
	}
	got = runNova(t, "", "sub", "tick", "--url", url, "--topic", "t", "--count", "1")
	if got.code != 0 || !strings.Contains(got.stdout, `  tick        `) || !strings.Contains(got.stdout, `  {"name":"<a>","n":0}`) {
		t.Error(got)
	}
	got = runNova(t, "", "sub", "tick", "--url", strings.Replace(url, "http", "ws", 1)+"/ws", "--topic", "t", "--count", "1", "--json")
	if got.code != 0 || !strings.Contains(got.stdout, `"data":{"name":"<a>","n":0}}`) {
		t.Error(got)
	}
}

// What is published while the command runs arrives, to everyone and by topic.
func TestSubLive(t *testing.T) {
	_, url := startDemo(t, "--schema", write(t, "tiny.json", tinySchema))
	if got := runNova(t, "", "pub", "tock", `{"ts":0}`, "--url", url, "--topic", "t"); got.code != 0 {
		t.Fatal(got)
	}
	sub := start(t, "sub", "--url", url, "--topic", "t", "--json")
	sub.line(t, `{"ts":0}`) // the retained one: it is subscribed
	for _, args := range [][]string{{`{"ts":1}`, "--topic", "t"}, {`{"ts":2}`}} {
		got := runNova(t, "", append([]string{"pub", "tock", "--url", url}, args...)...)
		if got.code != 0 || !strings.Contains(got.stdout, "the last went to 1 client\n") {
			t.Error(got)
		}
		sub.line(t, args[0])
	}
	if code := sub.end(t); code != 0 || sub.stderr.String() != "" {
		t.Errorf("exit %d, stderr %q", code, sub.stderr)
	}
}

func TestSubErrors(t *testing.T) {
	schema := write(t, "tiny.json", tinySchema)
	nobody := "http://" + freePort(t)
	fails(t, 1, []string{"sub", "--url", nobody}, "nova sub: no server at "+nobody+" (connection refused); start one with nova demo, or name yours with --url")
	fails(t, 1, []string{"sub", "--url", nobody, "--schema", schema}, "no server at "+nobody+" (connection refused)")
	fails(t, 1, []string{"sub", "tok", "--schema", schema}, `unknown event "tok"; did you mean "tock"?`)
	fails(t, 2, []string{"sub", "--count", "-1"}, "--count -1 is negative")
	fails(t, 2, []string{"sub", "--topic", ""}, "need a name")
	_, url := startDemo(t, "--schema", schema)
	fails(t, 1, []string{"sub", "--url", url, "--topic", strings.Repeat("t", 300)}, "topic")
}
