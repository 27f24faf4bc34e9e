package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPub(t *testing.T) {
	_, url := startDemo(t, "--schema", write(t, "tiny.json", tinySchema))
	to := []string{"--url", url, "--topic", "t"}
	pub := func(stdin string, args ...string) outcome {
		t.Helper()
		return runNova(t, stdin, append(append([]string{"pub"}, args...), to...)...)
	}
	if got := pub("", "tick", "{\n  \"name\": \"ü\", \"n\": 1\n}"); got.code != 0 || got.stdout != "published 1 tick to topic t; the last went to 0 clients\n" || got.stderr != "" {
		t.Error(got)
	}
	if got := pub("{\"name\":\"a\",\"n\":1}\r\n\n{\"name\":\"b\",\"n\":2}", "tick", "-"); got.code != 0 || !strings.HasPrefix(got.stdout, "published 2 tick to topic t in ") {
		t.Error(got)
	}
	csv := write(t, "ticks.CSV", "\ufeffname,n,ok,at.x,tags\n\"a,\"\"b\",1,TRUE,1.5,\"[\"\"x\"\"]\"\n,-2,,,\n")
	if got := pub("", "tick", "--from", csv, "--json"); got.code != 0 || !strings.HasPrefix(got.stdout, `{"published":2,"skipped":0,"members":0,"seconds":0.`) {
		t.Error(got)
	}
	sub := runNova(t, "", "sub", "--url", url, "--topic", "t", "--count", "5", "--json")
	var data []string
	for line := range strings.Lines(sub.stdout) {
		var v struct{ Data json.RawMessage }
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		data = append(data, string(v.Data))
	}
	want := []string{`{"name":"ü","n":1}`, `{"name":"a","n":1}`, `{"name":"b","n":2}`,
		`{"name":"a,\"b","n":1,"ok":true,"at":{"x":1.5},"tags":["x"]}`, `{"name":"","n":-2}`}
	if sub.code != 0 || strings.Join(data, "\n") != strings.Join(want, "\n") {
		t.Errorf("received %s\n%s", strings.Join(data, "\n"), sub)
	}
}

func TestPubBadLines(t *testing.T) {
	_, url := startDemo(t, "--schema", write(t, "tiny.json", tinySchema))
	file := write(t, "ticks.ndjson", `{"name":"a","n":1}
{"name":"b","n":"x"}
{"name":"c","n":3}
{"name":"d","n":4,"no":1}
{"name":"e"
`+`{"name":"`+strings.Repeat("x", 1<<20)+`","n":1}
{"name":"f","n":6}`)
	fails(t, 1, []string{"pub", "tick", "--url", url, "--from", file},
		"nova pub: "+file+`:2: /n: found the string "x"; write a whole number (the 1 before it are published; --skip-bad goes on)`)
	got := runNova(t, "", "pub", "tick", "--url", url, "--from", file, "--skip-bad")
	lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
	if got.code != 0 || len(lines) != 4 || !strings.Contains(got.stdout, "published 3 tick to everyone in ") || !strings.Contains(got.stdout, ", skipped 4 bad lines;") {
		t.Fatal(got)
	}
	for i, want := range []string{
		`:2: /n: found the string "x"; write a whole number`,
		`:4: /no: unknown property of Tick; did you mean "n"?`,
		`:5: the JSON text ends at byte 11; expected ',' or '}'`,
		`:6: bad line: longer than 1048576 bytes`,
	} {
		if lines[i] != "skipped "+file+want {
			t.Errorf("line %d: %q, want %q", i, lines[i], want)
		}
	}
	fails(t, 1, []string{"pub", "tick", `{"name":1,"n":1}`, "--url", url}, "nova pub: the JSON: /name: found the number 1; write a string")
	fails(t, 1, []string{"pub", "tick", "--url", url, "--from", write(t, "a.csv", "name,m\nx,1\n")}, `a.csv:1: column "m" is no property of Tick`)
	fails(t, 1, []string{"pub", "tick", "--url", url, "--from", write(t, "b.csv", "name,n\nx,1.5\n")}, "b.csv:2: /n: 1.5 has a fraction; write a whole number")
	fails(t, 1, []string{"pub", "tick", "--url", url, "--from", write(t, "c.csv", "name,n\nx,1,2\n")}, "c.csv:2: bad line: wrong number of fields")
	fails(t, 1, []string{"pub", "tick", "--url", url, "--from", write(t, "d.csv", "")}, "d.csv:1: cannot read the names of the columns")
	fails(t, 1, []string{"pub", "tick", "{}", "--url", url, "--topic", strings.Repeat("t", 300)}, "/name: the required property is missing")
	fails(t, 1, []string{"pub", "tock", `{"ts":1}`, "--url", url, "--topic", strings.Repeat("t", 300)}, "the JSON: the server refuses it: ", "(invalid)")
}

func TestPubErrors(t *testing.T) {
	schema := write(t, "tiny.json", tinySchema)
	fails(t, 2, []string{"pub"}, "no event given")
	fails(t, 2, []string{"pub", "tick"}, "nothing to publish; give JSON, - for standard input, or --from FILE")
	fails(t, 2, []string{"pub", "tick", "{}", "--from", "f"}, "both JSON and --from are given")
	fails(t, 2, []string{"pub", "tick", "{", "}"}, `unexpected argument "}"; quote the JSON`)
	fails(t, 2, []string{"pub", "tick", "{}", "--topic", "a", "--user", "b"}, "--topic and --user exclude each other")
	fails(t, 2, []string{"pub", "tick", "{}", "--topic", ""}, "--topic is empty")
	fails(t, 2, []string{"pub", "tick", "{}", "--url", "ftp://localhost"}, `--url ftp://localhost has the scheme "ftp"; write http://`)
	fails(t, 2, []string{"pub", "tick", "{}", "--url", "localhost:3000"}, `"localhost:3000" is no address of a server; write --url http://localhost:3000`)
	fails(t, 1, []string{"pub", "tik", "{}", "--schema", schema}, `unknown event "tik"; did you mean "tick"? (events of schema tiny: "tick", "tock")`)
	fails(t, 1, []string{"pub", "tick", "--schema", schema, "--from", "missing.ndjson"}, "cannot read missing.ndjson (no such file or directory); check --from")
	fails(t, 1, []string{"pub", "tick", "{}", "--schema", "missing.json"}, "schema file missing.json does not exist")

	nobody := "http://" + freePort(t)
	fails(t, 1, []string{"pub", "tick", `{"name":"a","n":1}`, "--url", nobody}, "no server at "+nobody+" (connection refused); start one with nova demo")
	fails(t, 1, []string{"pub", "tick", `{"name":"a","n":1}`, "--url", nobody, "--schema", schema}, "no server at "+nobody)

	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	fails(t, 1, []string{"pub", "tick", "{}", "--url", other.URL}, other.URL+"/schema answered 404 Not Found; give the schema with --schema FILE")
	fails(t, 1, []string{"pub", "tick", `{"name":"a","n":1}`, "--url", other.URL, "--schema", schema}, "/api/publish answered 404 Not Found; is this a nova server?")
}

// A line of CSV with a quote in the wrong place is a bad line like others.
func TestPubBrokenQuotes(t *testing.T) {
	_, url := startDemo(t, "--schema", write(t, "tiny.json", tinySchema))
	file := write(t, "ticks.csv", "name,n\na,1\nb\"c,2\nd,3\n\"e,4\n")
	fails(t, 1, []string{"pub", "tick", "--url", url, "--from", file}, file+":3: bad line: bare \"", "(the 1 before it are published; --skip-bad goes on)")
	got := runNova(t, "", "pub", "tick", "--url", url, "--from", file, "--skip-bad")
	if got.code != 0 || !strings.Contains(got.stdout, "published 2 tick to everyone in ") || !strings.Contains(got.stdout, ", skipped 2 bad lines;") || !strings.Contains(got.stderr, file+":5: bad line: ") {
		t.Error(got)
	}
	fails(t, 1, []string{"pub", "tick", "--url", url, "--from", write(t, "empty.csv", "")}, "empty.csv:1: cannot read the names of the columns: the file is empty")
}

// What an unset shell variable leaves is refused, not taken for something else.
func TestEmptyArguments(t *testing.T) {
	fails(t, 2, []string{"pub", "tick", ""}, "the JSON is empty; write nova pub tick JSON")
	fails(t, 2, []string{"pub", "tick", " \n"}, "the JSON is empty; write nova pub tick JSON")
	fails(t, 2, []string{"pub", "tick", "{}", "--except", ""}, "--except is empty")
	fails(t, 2, []string{"clients", ""}, "the id is empty; name one client, or none for all")
	fails(t, 2, []string{"health", "--url", ""}, "is no address of a server")
	schema := write(t, "tiny.json", tinySchema)
	for _, flag := range []string{"--token", "--admin-token", "--token-file", "--tls-cert", "--jwt-issuer", "--jwt-key-set-url", "--config", "--schema"} {
		fails(t, 2, []string{"serve", "--schema", schema, "--addr", "127.0.0.1:0", flag, ""}, flag+": the value is empty; give one, or leave the flag out")
	}
}

// freePort returns an address on which nothing listens, below the ports that the system
// gives to whoever asks for any.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 15_000+rand.IntN(10_000))
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}

func TestPubEnvironment(t *testing.T) {
	asked := make(chan *http.Request, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r
		_, _ = w.Write([]byte(`{"members":1,"offset":1}` + "\n"))
	}))
	defer srv.Close()
	t.Setenv("NOVA_URL", srv.URL+"/")
	t.Setenv("NOVA_TOKEN", "s3")
	got := runNova(t, "", "pub", "tock", `{"ts":1}`, "--schema", write(t, "tiny.json", tinySchema), "--user", "u")
	if r := <-asked; got.code != 0 || r.URL.Path != "/api/publish" || r.Header.Get("Authorization") != "Bearer s3" {
		t.Errorf("%v: %s", r.Header, got)
	}
	if got.stdout != "published 1 tock to user u; the last went to 1 client\n" {
		t.Error(got)
	}
}

// A pipe is published as it flows, and Ctrl-C ends the command while it waits.
func TestPubPipe(t *testing.T) {
	_, url := startDemo(t, "--schema", write(t, "tiny.json", tinySchema))
	sub := start(t, "sub", "--url", url, "--topic", "t", "--json")
	in, out := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	var stderr bytes.Buffer
	code := make(chan int)
	go func() {
		code <- run(ctx, []string{"pub", "tock", "-", "--url", url, "--topic", "t"}, in, io.Discard, &stderr)
	}()
	for _, line := range []string{`{"ts":1}`, `{"ts":2}`} {
		if _, err := io.WriteString(out, line+"\n"); err != nil {
			t.Fatal(err)
		}
		sub.line(t, line)
	}
	cancel()
	// The second may have arrived before its result did.
	if got := <-code; got != 1 || !strings.HasPrefix(stderr.String(), "nova pub: interrupted; ") || !strings.HasSuffix(stderr.String(), " were published\n") {
		t.Errorf("exit %d, stderr %q", got, stderr.String())
	}
}
