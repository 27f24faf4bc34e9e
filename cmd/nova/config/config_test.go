package config_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/ignex/nova/cmd/nova/config"
)

// rule is an entry of a list.
type rule struct {
	Name string
	Size int
	Keep bool
}

// values is what the tests have settings for.
type values struct {
	addr, cert, token, secret string
	most, bytes               int
	rate                      float64
	on                        bool
	wait                      time.Duration
	color                     uint8
	names                     []string
	rules                     []rule
}

func declare(v *values) *config.Set {
	*v = values{addr: ":1", most: 7, bytes: 1 << 10, rate: 1.5, wait: time.Minute, color: 1}
	s := config.New()
	s.Text(&v.addr, "addr", "where")
	s.Path(&v.cert, "tls.cert", "file")
	s.Secret(&v.token, "token", "secret")
	s.Secret(&v.secret, "jwt.secret", "secret")
	s.Int(&v.most, "limits.most", 0, 100, "number")
	s.Rate(&v.rate, "limits.rate", "number")
	config.Size(s, &v.bytes, "limits.max-bytes", 1, math.MaxInt, "size")
	s.Bool(&v.on, "on", "switch")
	s.Duration(&v.wait, "wait", 0, time.Hour, "time")
	config.Choice(s, &v.color, "color", "one", "red", "green", "blue")
	s.List(&v.names, "names", "several")
	config.Records(s, &v.rules, "rules", "entries", func(s *config.Set, r *rule) {
		s.Text(&r.Name, "name", "")
		s.Int(&r.Size, "size", -1, 10, "")
		s.Bool(&r.Keep, "keep", "")
	})
	return s
}

// load reads a file text, an environment and flags.
func load(t *testing.T, file string, environ []string, flags ...string) (*values, *config.Set, error) {
	t.Helper()
	v := &values{}
	s := declare(v)
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	s.Bind(fs)
	if err := fs.Parse(flags); err != nil {
		return v, s, err
	}
	path := filepath.Join(t.TempDir(), "nova.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	err := s.Load(path, false, environ)
	if err != nil && strings.HasPrefix(err.Error(), path) {
		err = fmt.Errorf("FILE%s", strings.TrimPrefix(err.Error(), path))
	}
	return v, s, err
}

func sources(s *config.Set) map[string]string {
	all := map[string]string{}
	for _, setting := range s.All() {
		if setting.Source != "default" {
			all[setting.Key] = setting.Source
		}
	}
	return all
}

func TestLayers(t *testing.T) {
	file := `# comment
addr: file
tls: {cert: file.pem}
limits:
  most: 1
  rate: 2
names: [a, "b,c"]
`
	v, s, err := load(t, file, []string{"NOVA_LIMITS_MOST=2", "NOVA_LIMITS_RATE=3.25", "NOVA_WAIT=", "OTHER=1", "NOVA_COLOR=blue"}, "--limits-rate=4", "--on", "--names", "x,y", "--names", "z")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Dir(v.cert)
	if v.addr != "file" || v.most != 2 || v.rate != 4 || !v.on || v.wait != time.Minute || v.color != 2 || !slices.Equal(v.names, []string{"x", "y", "z"}) || !filepath.IsAbs(path) || filepath.Base(v.cert) != "file.pem" {
		t.Errorf("%+v", v)
	}
	got := sources(s)
	want := map[string]string{"addr": path + "/nova.yaml:2", "tls.cert": path + "/nova.yaml:3", "limits.most": "NOVA_LIMITS_MOST", "limits.rate": "flag --limits-rate", "on": "flag --on", "color": "NOVA_COLOR", "names": "flag --names"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("sources %v, want %v", got, want)
	}
	if v, _, err := load(t, file, nil); err != nil || !slices.Equal(v.names, []string{"a", "b,c"}) {
		t.Errorf("names %q, %v", v.names, err)
	}
}

func TestValues(t *testing.T) {
	v, _, err := load(t, "limits: {max-bytes: 64 KiB}\nwait: 90s\nrules:\n- {name: a, size: -1}\n- name: b\n  keep: true\n", nil)
	if err != nil || v.bytes != 65536 || v.wait != 90*time.Second || !slices.Equal(v.rules, []rule{{"a", -1, false}, {"b", 0, true}}) {
		t.Errorf("%+v, %v", v, err)
	}
	for text, want := range map[string]int{"1": 1, "3B": 3, "2KB": 2000, "2kib": 2048, "5MB": 5e6, "5MiB": 5 << 20, "1GiB": 1 << 30, "7GB": 7e9} {
		if v, _, err := load(t, "", nil, "--limits-max-bytes", text); err != nil || v.bytes != want {
			t.Errorf("size %s: %d, %v", text, v.bytes, err)
		}
	}
	if v, _, err := load(t, "", []string{"NOVA_RULES=[{name: x, size: 3}]"}); err != nil || !slices.Equal(v.rules, []rule{{"x", 3, false}}) {
		t.Errorf("%+v, %v", v.rules, err)
	}
	for _, empty := range []string{"", "\n# nothing\n", "---\n", "~\n"} {
		if _, s, err := load(t, empty, nil); err != nil || len(sources(s)) != 0 {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

func TestFileErrors(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"adr: x", `FILE:1: unknown key "adr"; did you mean "addr"?`},
		{"addr: a\n\ntls:\n  crt: x", `FILE:4: unknown key "tls.crt"; did you mean "tls.cert"?`},
		{"tsl: {cert: x}", `FILE:1: unknown key "tsl"; did you mean "tls"?`},
		{"tls-cert: x", `FILE:1: unknown key "tls-cert"; did you mean "tls.cert"?`},
		{"cert: x", `FILE:1: unknown key "cert"; did you mean "tls.cert"?`},
		{"tls.cert: x", `FILE:1: write "tls.cert" as cert in the section tls`},
		{"something: x", `FILE:1: unknown key "something"; nova config lists all`},
		{"tls: x", `FILE:1: "tls" is a section; write its settings below it, indented`},
		{"tls:\nwait: 1s", `FILE:1: "tls" is a section; write its settings below it, indented`},
		{"addr: {a: 1}", `FILE:1: addr: write one value`},
		{"addr: [a]", `FILE:1: addr: write one value`},
		{"on: true\naddr:", `FILE:2: addr: no value is given; write one, or leave the line out`},
		{"addr: a\naddr: b", `FILE:2: "addr" is given twice, first on line 1; keep one`},
		{"limits: {most: 101}", `FILE:1: limits.most: "101" is not right; write a whole number between 0 and 100`},
		{"limits: {most: 1.0}", `FILE:1: limits.most: "1.0" is not right; write a whole number between 0 and 100`},
		{"limits: {rate: .nan}", `FILE:1: limits.rate: ".nan" is not right; write a number between 0 and 1000000000`},
		{"limits: {max-bytes: 1TiB}", `FILE:1: limits.max-bytes: "1TiB" is not right; write a number of bytes, such as 65536, 64KiB or 1GiB`},
		{"limits: {max-bytes: 0}", `FILE:1: limits.max-bytes: "0" is not right; write a size between 1 and `},
		{"limits: {max-bytes: 99999999999GiB}", `FILE:1: limits.max-bytes: `},
		{"on: yes", `FILE:1: on: "yes" is not right; write true or false`},
		{"wait: 30", `FILE:1: wait: "30" is not right; write a time with its unit`},
		{"wait: 2h", `FILE:1: wait: "2h" is not right; write a time between 0s and 1h`},
		{"color: grey", `FILE:1: color: "grey" is not right; write red, green or blue`},
		{"names: [a, [b]]", `FILE:1: names: write one value`},
		{"names: a,,b", `FILE:1: names: "a,,b" is not right; an entry is empty`},
		{"rules: {name: a}", `FILE:1: rules: write a list of entries, each behind a dash`},
		{"rules: [a]", `FILE:1: rules: write an entry as names and values`},
		{"rules:\n- name: a\n- nam: b", `FILE:3: unknown key "nam"; did you mean "name"?`},
		{"rules:\n- name: a\n  size: 11", `FILE:3: size: "11" is not right; write a whole number between -1 and 10`},
		{"- a", `FILE:1: write settings as name: value`},
		{"a: b: c", `FILE:1: not YAML: mapping values are not allowed in this context`},
		{"addr: a\n\twait: 1s", `FILE:2: not YAML: found `},
		{"addr: 'a", `not YAML: found unexpected end of stream`},
		{"addr: a\n---\naddr: b", `FILE:2: a second document begins; write one`},
		{"addr: &a x\nnames: *a", `FILE:2: names: an alias is not followed; write the value itself`},
		{"<<: {addr: a}", `FILE:1: << is not followed; write the settings themselves`},
		{"[a]: b", `FILE:1: write a name before the colon`},
		{"token: '***'", `FILE:1: token: this is what nova config prints instead of a secret; write the secret, or its file in token-file`},
		{"addr: \xff", `FILE:1: not YAML: `},
		{"addr: " + strings.Repeat("x", 1<<20), `is longer than 1048576 bytes; is it the right file?`},
	} {
		_, _, err := load(t, c.file, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: %v; want %s", c.file, err, c.want)
		}
	}
}

func TestOtherErrors(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, c := range []struct {
		environ []string
		flags   []string
		want    string
	}{
		{[]string{"NOVA_ADR=x"}, nil, "unknown environment variable NOVA_ADR; did you mean NOVA_ADDR?"},
		{[]string{"NOVA_SOMETHING_ELSE=x"}, nil, "unknown environment variable NOVA_SOMETHING_ELSE; nova config lists the settings"},
		{[]string{"NOVA_WAIT=x"}, nil, `NOVA_WAIT: "x" is not right; write a time with its unit`},
		{[]string{"NOVA_RULES={"}, nil, `NOVA_RULES: line 1: not YAML: `},
		{nil, []string{"--wait", "x"}, `--wait: "x" is not right; write a time with its unit`},
		{nil, []string{"--wait", long}, `--wait: write a time with its unit`},
		{nil, []string{"--rules", "[{naem: x}]"}, `unknown key "naem"; did you mean "name"?`},
		{nil, []string{"--token", "a", "--token-file", "b"}, "token and token-file are both given; keep one"},
		{nil, []string{"--token-file", "missing"}, "token-file: cannot read missing (no such file or directory)"},
	} {
		_, _, err := load(t, "", c.environ, c.flags...)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v %v: %v; want %s", c.environ, c.flags, err, c.want)
		}
	}
	// Kubernetes makes these for a service that is called nova.
	links := []string{"NOVA_SERVICE_HOST=10.0.0.1", "NOVA_SERVICE_PORT=3000", "NOVA_SERVICE_PORT_HTTP=3000", "NOVA_PORT=tcp://10.0.0.1:3000",
		"NOVA_PORT_3000_TCP=tcp://10.0.0.1:3000", "NOVA_PORT_3000_TCP_ADDR=10.0.0.1", "NOVA_LIVE_SERVICE_HOST=10.0.0.1", "NOVA_URL=x", "NOVA_CONFIG=x"}
	if _, s, err := load(t, "", links); err != nil || len(sources(s)) > 0 {
		t.Errorf("%v, %v", sources(s), err)
	}
}

func TestMissingFile(t *testing.T) {
	v := &values{}
	missing := filepath.Join(t.TempDir(), "nova.yaml")
	if err := declare(v).Load(missing, true, nil); err != nil {
		t.Error(err)
	}
	if err := declare(v).Load(missing, false, nil); err == nil || err.Error() != "cannot read "+missing+" (no such file or directory)" {
		t.Error(err)
	}
	if err := declare(v).Load(t.TempDir(), true, nil); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Error(err)
	}
}

// write makes a file.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSecretFiles(t *testing.T) {
	for content, want := range map[string]string{"s3cret": "s3cret", "s3cret\n": "s3cret", "s3cret\r\n": "s3cret", " a b \n": " a b ", "\n": ""} {
		path := write(t, content)
		v, s, err := load(t, "token-file: "+path, nil)
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "is empty") {
				t.Errorf("%q: %v", content, err)
			}
			continue
		}
		if err != nil || v.token != want {
			t.Errorf("%q: %q, %v", content, v.token, err)
		}
		for _, c := range []struct {
			file    string
			environ []string
			flags   []string
			want    string
		}{
			{"token-file: " + path, []string{"NOVA_TOKEN=upper"}, nil, "upper"},
			{"token: lower", []string{"NOVA_TOKEN_FILE=" + path}, nil, want},
			{"", []string{"NOVA_TOKEN=lower"}, []string{"--token-file", path}, want},
		} {
			if v, _, err := load(t, c.file, c.environ, c.flags...); err != nil || v.token != c.want {
				t.Errorf("%v: %q, %v", c, v.token, err)
			}
		}
		if text, err := s.YAML(); err != nil || strings.Contains(string(text), "s3cret") {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// What is printed is a config file that gives the same values, and holds no secret.
func TestPrintedIsAFile(t *testing.T) {
	v, s, err := load(t, "rules:\n- {name: \"yes\", size: 3}\nnames: ['1', 'a: b', '#']\naddr: 'true'\non: true", nil, "--limits-max-bytes=65537", "--limits-rate=0.25", "--wait=61s")
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := load(t, string(text), nil)
	if err != nil || fmt.Sprint(*again) != fmt.Sprint(*v) {
		t.Errorf("%s\n%+v\n%+v\n%v", text, again, v, err)
	}
	if !strings.Contains(string(text), "wait: 1m1s # flag --wait\n") || !strings.Contains(string(text), "color: green # default\n") {
		t.Errorf("%s", text)
	}
	_, s, err = load(t, "token: hushhush", nil, "--jwt-secret=hushhush")
	if err != nil {
		t.Fatal(err)
	}
	text, _ = s.YAML()
	asJSON, err := s.JSON()
	if err != nil || strings.Contains(string(text)+string(asJSON), "hush") || strings.Count(string(text), "***") != 2 || strings.Count(string(asJSON), "***") != 2 {
		t.Errorf("%s\n%s\n%v", text, asJSON, err)
	}
	var entries []struct {
		Key, Source string
		Value       any
	}
	if err := json.Unmarshal(asJSON, &entries); err != nil || len(entries) != len(s.All()) || entries[0].Value != ":1" {
		t.Errorf("%+v, %v", entries, err)
	}
}
