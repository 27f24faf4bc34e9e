package main

import (
	"strings"
	"testing"
)

func TestServeErrors(t *testing.T) {
	schema := write(t, "tiny.json", tinySchema)
	_, url := startServe(t)
	serve := func(args ...string) []string {
		return append([]string{"serve", "--addr", "127.0.0.1:0", "--schema", schema}, args...)
	}
	taken := strings.TrimPrefix(url, "http://")
	fails(t, 1, []string{"serve", "--schema", schema, "--addr", taken}, "nova serve: address "+taken+" is in use")
	fails(t, 2, []string{"serve", "--schema", schema, "--addr", "3000"}, `--addr "3000" is no address`)
	fails(t, 2, []string{"serve"}, "no schema is given; write --schema FILE, NOVA_SCHEMA or schema in nova.yaml")
	fails(t, 1, []string{"serve", "--schema", "x.json"}, "schema file x.json does not exist")
	bad := runNova(t, "", "serve", "--schema", write(t, "bad.json", strings.Replace(tinySchema, `"number"`, `"numbr"`, 1)))
	if bad.code != 1 || bad.stdout != "" || strings.Count(bad.stderr, "\n") != 3 || !strings.Contains(bad.stderr, "bad.json:7:") {
		t.Error(bad) // the problem, its line, the place in it
	}
	fails(t, 1, serve("--config", "x.yaml"), "nova serve: cannot read x.yaml (no such file or directory)")
	fails(t, 2, serve("--config", write(t, "nova.yaml", "path: /ws\nlimits:\n  x: 1\n")), "nova.yaml:2: unknown key ")
	fails(t, 2, serve("--config", write(t, "nova.yaml", "path: /ws\nheartbeat: soon\n")), `nova.yaml:2: heartbeat: "soon" is not right`)
	fails(t, 2, serve("--max-conections", "1"), "unknown flag --max-conections; did you mean --max-connections?")
	fails(t, 2, serve("--max-connections", "-1"), `--max-connections: "-1" is not right; write a whole number between 0 and`)
	fails(t, 2, serve("now"), `unexpected argument "now"`)
	fails(t, 2, serve("--path", "ws"), `path "ws" is no path of a URL`)
	fails(t, 2, serve("--path", "/metrics"), `path "/metrics" is used already`)
	fails(t, 2, serve("--tls-cert", "x"), "tls.cert and tls.key go together")
	fails(t, 1, serve("--tls-cert", "x.pem", "--tls-key", schema), "x.pem: no such file or directory", "check tls.cert")
	fails(t, 1, serve("--tls-cert", schema, "--tls-key", schema), "cannot use the certificate")
	fails(t, 2, serve("--max-message-size", "65MiB"), "max-partial-bytes is smaller than max-message-size")
	fails(t, 2, serve("--rate-limit-burst", "5"), "rate-limit.burst goes with rate-limit.messages")
	fails(t, 2, serve("--rate-limit-policy", "wait"), "write delay, drop or close")
	fails(t, 2, serve("--admin-token", "short"), "admin.token has 5 bytes; write at least 16")
	fails(t, 2, serve("--admin-token", adminToken, "--token", adminToken), "admin.token and token are the same")
	fails(t, 1, serve("--admin-token-file", "x"), "admin.token-file: cannot read x (no such file or directory)")
	fails(t, 2, serve("--token", "a", "--token-file", schema), "token and token-file are both given")
	fails(t, 2, serve("--token", "a", "--jwt-secret", "b"), "token and jwt exclude each other")
	fails(t, 2, serve("--jwt-issuer", "a"), "jwt.issuer is given without a key")
	fails(t, 2, serve("--jwt-secret", "short"), "jwt: ", "32")
	fails(t, 2, serve("--jwt-key-set-url", "http://example.com/keys"), "must be https")
	fails(t, 1, serve("--jwt-public-key-file", "x.pem"), "jwt.public-key-file: open x.pem: no such file or directory")
	fails(t, 2, serve("--jwt-public-key-file", schema), "jwt: ", "PEM")
	fails(t, 2, serve("--origins", "example.com"), `origins has "example.com"`)
	fails(t, 2, serve("--trusted-proxies", "proxy"), `trusted-proxies has "proxy"`)
	fails(t, 2, serve("--late-auth", "10s"), "late-auth needs a token")
	fails(t, 2, serve("--access-topics", "a.>.b"), `access.topics: "a.>.b": ">" may only be the last part`)
	fails(t, 2, serve("--access-groups", "user-{user}"), "are parts of their own")
	fails(t, 2, serve("--topics", "[{pattern: 'a*'}]"), `topics: entry 1 (pattern "a*")`)
	fails(t, 2, serve("--topics", "[{size: 1}]"), "the pattern is missing")
	fails(t, 2, serve("--topics", "[{pattern: a, log: true}]"), "log needs a directory; set filelog.dir")
	fails(t, 2, serve("--topics", "[{pattern: a, log-policy: hold}]"), "log-policy is for topics with log: true")
	fails(t, 2, serve("--filelog-dir", t.TempDir(), "--topics", "[{pattern: a, log: true, ttl: 1m}]"), "ttl does not go with log")
	fails(t, 2, serve("--filelog-max-bytes", "1KiB"), "filelog.max-bytes is too small")
	fails(t, 1, serve("--filelog-dir", schema), "not a directory")
	t.Setenv("NOVA_MAX_CONECTIONS", "1")
	fails(t, 2, serve(), "unknown environment variable NOVA_MAX_CONECTIONS; did you mean NOVA_MAX_CONNECTIONS?")
}

// A path that no request can have, or that is taken, is refused, whatever it holds.
func TestServePaths(t *testing.T) {
	schema := write(t, "tiny.json", tinySchema)
	for _, path := range []string{"ws", "/a b", "/a\tb", "/a\nb", "/a%zz", "/a%2Fb", "//ws", "/ws//x", "/ws/..", "/./ws", "/{x}", "/ws?x"} {
		fails(t, 2, []string{"serve", "--addr", "127.0.0.1:0", "--schema", schema, "--path", path}, "is no path of a URL; write one such as /ws")
	}
	for _, path := range []string{"/", "/healthz", "/api/publish"} {
		fails(t, 2, []string{"serve", "--addr", "127.0.0.1:0", "--schema", schema, "--path", path}, "is used already; choose another, such as /ws")
	}
}

// A setting that would do nothing is refused, and the other that it needs is named.
func TestServeSettingsThatDoNothing(t *testing.T) {
	schema := write(t, "tiny.json", tinySchema)
	serve := func(args ...string) []string {
		return append([]string{"serve", "--addr", "127.0.0.1:0", "--schema", schema}, args...)
	}
	fails(t, 2, serve("--rate-limit-policy", "close"), "rate-limit.policy does nothing without a limit; set rate-limit.messages, rate-limit.per-user or rate-limit.per-ip")
	fails(t, 2, serve("--max-connections-per-user", "3"), "max-connections-per-user does nothing without users; set jwt")
	fails(t, 2, serve("--token", "abc", "--rate-limit-per-user", "3"), "rate-limit.per-user does nothing without users; set jwt")
	fails(t, 2, serve("--access-topics", "user.{user}"), "access.topics has {user}, but nothing tells users apart; set jwt")
	fails(t, 2, serve("--token", "abc", "--max-unauthenticated", "5"), "max-unauthenticated does nothing without late-auth; set it")
	fails(t, 2, serve("--token", "abc", "--max-unauthenticated-per-ip", "5"), "max-unauthenticated-per-ip does nothing without late-auth; set it")
	fails(t, 2, serve("--token", "abc", "--expiry-grace", "5s"), "expiry-grace does nothing without jwt; set it")
	fails(t, 2, serve("--compression-min-size", "5"), "compression.min-size does nothing without compression.level; set it")
	fails(t, 2, serve("--filelog-sync", "always"), "filelog.sync does nothing without filelog.dir; set it")
	fails(t, 2, serve("--filelog-max-age", "1h"), "filelog.max-age does nothing without filelog.dir; set it")
	logs, _ := startServe(t, "--filelog-dir", t.TempDir())
	logs.logged(t, "filelog.dir is given, but no topic is logged: add log: true to a rule in topics")
}

// Tokens that no client could send are refused at the start.
func TestServeTokensThatNobodyCanSend(t *testing.T) {
	schema := write(t, "tiny.json", tinySchema)
	for _, text := range []string{adminToken + " \r\n", " " + adminToken, adminToken + "\n" + adminToken, adminToken + "\x00", adminToken + "\n\n", "0123456789abcdef\u00fc"} {
		for _, flag := range []string{"admin-token", "token"} {
			fails(t, 2, []string{"serve", "--addr", "127.0.0.1:0", "--schema", schema, "--" + flag + "-file", write(t, "token", text)},
				strings.Replace(flag, "-", ".", 1)+" has a character that no header can carry", "write letters and digits, such as openssl rand -hex 32 makes")
		}
	}
}

// Files of keys without keys in them.
func TestServeKeyFilesWithoutKeys(t *testing.T) {
	schema := write(t, "tiny.json", tinySchema)
	for _, flag := range []string{"public-key-file", "key-set-file"} {
		for _, text := range []string{"", "\n"} {
			file := write(t, "keys", text)
			fails(t, 2, []string{"serve", "--addr", "127.0.0.1:0", "--schema", schema, "--jwt-" + flag, file, "--jwt-secret", "a secret of more than thirty-two bytes"},
				"jwt."+flag+": "+file+" is empty")
		}
	}
}

func TestConfig(t *testing.T) {
	file := write(t, "nova.yaml", "schema: tiny.json\nadmin: {token: 0123456789abcdef}\norigins: [https://a.example.com]\n")
	t.Setenv("NOVA_MAX_CONNECTIONS", "5000")
	got := runNova(t, "", "config", "--config", file, "--drain", "3s")
	for _, want := range []string{"drain: 3s # flag --drain\n", "max-connections: 5000 # NOVA_MAX_CONNECTIONS\n", "origins: ['https://a.example.com'] # " + file + ":3\n",
		"  token: '***' # " + file + ":2\n", "addr: :3000 # default\n", "  ttl: 1m # default\n"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%s lacks %q", got.stdout, want)
		}
	}
	if got.code != 0 || strings.Contains(got.stdout, adminToken) {
		t.Error(got)
	}
	if got := runNova(t, "", "config", "--config", file, "--json"); got.code != 0 || !strings.Contains(got.stdout, `"source": "NOVA_MAX_CONNECTIONS"`) || strings.Contains(got.stdout, adminToken) {
		t.Error(got)
	}
	if got := runNova(t, "", "config", "--path", "ws"); got.code != 2 || !strings.HasPrefix(got.stderr, "nova config: ") {
		t.Error(got)
	}
	// What is printed serves, but for the secrets.
	printed := strings.Replace(got.stdout, "'***'", "another-admin-token", 1)
	if again := runNova(t, "", "config", "--config", write(t, "again.yaml", printed)); again.code != 0 || !strings.Contains(again.stdout, "max-connections: 5000") {
		t.Error(again)
	}
}

func TestAccessRules(t *testing.T) {
	for _, c := range []struct {
		pattern, name, user string
		want                bool
	}{
		{"a", "a", "", true}, {"a", "a.b", "", false}, {"a.b", "a", "", false}, {"*", "a", "", true}, {"*", "a.b", "", false},
		{">", "a.b.c", "", true}, {"a.>", "a", "", false}, {"a.>", "a.b.c", "", true}, {"a.*.c", "a.b.c", "", true}, {"a.*.c", "a.b.d", "", false},
		{"u.{user}", "u.ann", "ann", true}, {"u.{user}", "u.ann", "bob", false}, {"u.{user}", "u.", "", false}, {"u.{user}", "u.{user}", "", false},
		{"u.{user}.>", "u.ann.x", "ann", true}, {"u.{user}.>", "u.a.b.x", "a.b", false}, {"u.{user}", "u.a.b", "a.b", false}, {"u.{user}", "u.*", "*", true},
		{"u.{user}", "u.ann", "*", false},
	} {
		if got := matches(strings.Split(c.pattern, "."), strings.Split(c.name, "."), c.user); got != c.want {
			t.Errorf("pattern %s, name %s, user %q: %v", c.pattern, c.name, c.user, got)
		}
	}
}
