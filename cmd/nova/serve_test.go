package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/gorilla/websocket"

	"github.com/ignex/nova"
	"github.com/ignex/nova/client"
	"github.com/ignex/nova/wire/control"
)

const adminToken = "0123456789abcdef"

// startServe runs nova serve with the tiny schema on a free port and returns its
// address.
func startServe(t *testing.T, args ...string) (*running, string) {
	t.Helper()
	schema := write(t, "tiny.json", tinySchema)
	r := start(t, append([]string{"serve", "--addr", "127.0.0.1:0", "--schema", schema, "--admin-token", adminToken, "--drain", "2s"}, args...)...)
	line := r.logged(t, "nova serve is up")
	_, url, ok := strings.Cut(line, "url=")
	url, _, _ = strings.Cut(url, "/ws ")
	if !ok {
		t.Fatalf("no address in %q", line)
	}
	return r, "http" + strings.TrimPrefix(url, "ws")
}

// logged waits for a line of standard error that holds a text.
func (r *running) logged(t *testing.T, text string) string {
	t.Helper()
	for deadline := time.Now().Add(testTime); time.Now().Before(deadline); {
		changed := r.stderr.next()
		for line := range strings.Lines(r.stderr.String()) {
			if strings.Contains(line, text) && strings.HasSuffix(line, "\n") {
				return line
			}
		}
		select {
		case <-changed:
		case code := <-r.code:
			r.code <- code
			t.Fatalf("exit %d, no line with %q in %s", code, text, r.stderr)
		case <-time.After(time.Until(deadline)):
		}
	}
	t.Fatalf("no line with %q in %s", text, r.stderr)
	return ""
}

// dial connects a client with a token.
func dial(t *testing.T, url, token string) (*client.Conn, error) {
	t.Helper()
	layout, err := loadLayout(write(t, "tiny.json", tinySchema))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := nova.SchemaOf(layout)
	if err != nil {
		t.Fatal(err)
	}
	options := client.Options{Schema: schema}
	if token != "" {
		options.Token = func(context.Context) (string, error) { return token, nil }
	}
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	conn, err := client.Dial(ctx, "ws"+strings.TrimPrefix(url, "http")+"/ws", options)
	if err == nil {
		t.Cleanup(func() { conn.Close(context.Background()) })
	}
	return conn, err
}

func TestServe(t *testing.T) {
	serve, url := startServe(t, "--token", "client-token-here")
	if code, body := fetch(t, url+"/health"); code != 200 || !strings.Contains(body, `"status":"ok"`) {
		t.Errorf("health: %d %s", code, body)
	}
	for _, path := range []string{"/schema", "/metrics", "/api/publish"} {
		if code, body := fetch(t, url+path); code != 401 && code != 405 {
			t.Errorf("%s without a token: %d %s", path, code, body)
		}
	}
	// The schema is fetched with the admin token; a client's own does not open it.
	schema := write(t, "tiny.json", tinySchema)
	sub := start(t, "sub", "--url", url, "--token", "client-token-here", "--schema", schema, "--topic", "t", "--count", "1", "--json")
	got := runNova(t, "", "pub", "tick", `{"name":"a","n":1}`, "--topic", "t", "--url", url, "--token", adminToken)
	if got.code != 0 || !strings.HasPrefix(got.stdout, "published 1 tick to topic t") {
		t.Error(got)
	}
	if line := sub.line(t, "tick"); !strings.Contains(line, `"data":{"name":"a","n":1}`) {
		t.Error(line)
	}
	fails(t, 1, []string{"pub", "tick", `{"name":"a","n":1}`, "--schema", schema, "--url", url, "--token", "client-token-here"}, "token")
	fails(t, 1, []string{"clients", "--url", url, "--token", "client-token-here"}, "does not take this token")
	fails(t, 1, []string{"sub", "--url", url, "--token", "client-token-here"}, "give the schema with --schema FILE")
	fails(t, 1, []string{"sub", "--url", url, "--schema", schema, "--token", "wrong", "--count", "1"}, "token")
	if got := runNova(t, "", "health", "--url", url); got.code != 0 || got.stdout != "ready\n" {
		t.Error(got)
	}
	if code := serve.end(t); code != 0 {
		t.Errorf("exit %d, %s", code, serve.stderr)
	}
	text := serve.stderr.String()
	if strings.Contains(text, "client-token-here") || strings.Contains(text, adminToken) || strings.Contains(text, "everyone may connect") {
		t.Errorf("log: %s", text)
	}
	fails(t, 1, []string{"health", "--url", url}, "no server at "+url)
}

// An operator sees a client, ends its session, and sees it no more.
func TestServeOperated(t *testing.T) {
	_, url := startServe(t)
	conn, err := dial(t, url, "")
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	var once sync.Once
	off := conn.OnStatus(func(s client.Status) {
		if s.State == client.Closed {
			once.Do(func() { close(closed) })
		}
	})
	defer off()
	t.Setenv("NOVA_ADMIN_TOKEN", adminToken)
	id := conn.ClientID()
	if got := runNova(t, "", "clients", id, "--url", url); got.code != 0 || !strings.Contains(got.stdout, "state   connected\n") {
		t.Error(got)
	}
	if got := runNova(t, "", "clients", "--url", url); got.code != 0 || !strings.Contains(got.stdout, "127.0.0.1") || !strings.HasSuffix(got.stdout, "1 client, 1 connected\n") {
		t.Error(got)
	}
	if got := runNova(t, "", "disconnect", id, "--url", url); got.code != 0 || got.stdout != "1 session ended\n" {
		t.Error(got)
	}
	select {
	case <-closed:
	case <-time.After(testTime):
		t.Error("the client was not closed")
	}
	fails(t, 1, []string{"clients", id, "--url", url}, "there is no client")
	fails(t, 1, []string{"disconnect", id, "--url", url}, "there is no client")
	fails(t, 1, []string{"disconnect", "--user", "ann", "--url", url}, `user "ann" has no session`)
	fails(t, 2, []string{"disconnect", id, "--code", "1006", "--url", url}, "--code 1006 cannot be sent; write 1000, 1001")
}

// Limits reach the server: a client that sends too fast is closed.
func TestServeRateLimit(t *testing.T) {
	_, url := startServe(t, "--rate-limit-messages", "1", "--rate-limit-burst", "3", "--rate-limit-policy", "close")
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range 10 {
		ping, err := (&control.Ping{}).AppendFrame(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.WriteMessage(websocket.BinaryMessage, ping); err != nil {
			break // closed already
		}
	}
	for conn.SetReadDeadline(time.Now().Add(testTime)); err == nil; {
		_, _, err = conn.ReadMessage()
	}
	if !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
		t.Error(err)
	}
}

// A file of settings stands behind variables and flags; paths in it are relative to
// it, and a log survives a restart.
func TestServeFromFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tiny.json": tinySchema, "admin": adminToken + "\n",
		"nova.yaml": `schema: tiny.json
addr: 127.0.0.1:0
admin: {token-file: admin}
log-level: warn
log-format: json
filelog: {dir: log}
topics:
  - {pattern: "kept.>", log: true, log-policy: hold}
  - {pattern: ">", size: 1}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("NOVA_LOG_LEVEL", "info")
	begin := func() (*running, string) {
		r := start(t, "serve", "--config", filepath.Join(dir, "nova.yaml"), "--drain", "1s")
		line := r.logged(t, "nova serve is up")
		_, url, _ := strings.Cut(line, `"url":"ws`)
		url, _, _ = strings.Cut(url, "/ws")
		return r, "http" + url
	}
	r, url := begin()
	for _, topic := range []string{"kept.x", "other"} {
		for _, n := range []string{"1", "2"} {
			if got := runNova(t, "", "pub", "tick", `{"name":"a","n":`+n+`}`, "--topic", topic, "--url", url, "--token", adminToken); got.code != 0 {
				t.Fatal(got)
			}
		}
	}
	if !strings.Contains(r.logged(t, "everyone may connect"), `"level":"WARN"`) {
		t.Error(r.stderr)
	}
	if got := runNova(t, "", "sub", "--url", url, "--token", adminToken, "--topic", "other", "--count", "1", "--json"); got.code != 0 || !strings.Contains(got.stdout, `"n":2`) {
		t.Error(got)
	}
	if code := r.end(t); code != 0 {
		t.Errorf("exit %d: %s", code, r.stderr)
	}
	r, url = begin()
	got := runNova(t, "", "sub", "--url", url, "--token", adminToken, "--topic", "kept.x", "--count", "2", "--json")
	if got.code != 0 || strings.Count(got.stdout, "\n") != 2 || !strings.Contains(got.stdout, `"n":1`) {
		t.Error(got)
	}
	if code := r.end(t); code != 0 {
		t.Errorf("exit %d: %s", code, r.stderr)
	}
}

func TestServeJWT(t *testing.T) {
	const secret = "a secret of more than thirty-two bytes"
	_, url := startServe(t, "--jwt-secret-file", write(t, "secret", secret+"\n"), "--jwt-issuer", "me", "--jwt-topics-claim", "topics",
		"--access-topics", "public.>,user.{user}.*", "--access-groups", "g")
	token := func(claims jwt.MapClaims) string {
		text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(secret))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, bad := range map[string]string{
		"none": "", "rubbish": "x", "issuer": token(jwt.MapClaims{"sub": "ann", "iss": "you"}),
		"expired": token(jwt.MapClaims{"sub": "ann", "iss": "me", "exp": time.Now().Add(-time.Hour).Unix()}),
	} {
		if conn, err := dial(t, url, bad); err == nil {
			conn.Close(t.Context())
			t.Errorf("a token that is %s was let in", name)
		} else if !strings.Contains(err.Error(), "4401") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ann := write(t, "ann", token(jwt.MapClaims{"sub": "ann", "iss": "me", "exp": time.Now().Add(time.Hour).Unix()}))
	schema := write(t, "tiny.json", tinySchema)
	for topic, want := range map[string]bool{"public.news": true, "public": false, "user.ann.x": true, "user.ann.x.y": false, "user.bob.x": false, "user.{user}.x": false, "vip": false} {
		if got := runNova(t, "", "pub", "tick", `{"name":"a","n":1}`, "--topic", topic, "--url", url, "--token", adminToken); got.code != 0 {
			t.Fatal(got)
		}
		got := runNova(t, "", "sub", "--topic", topic, "--count", "1", "--url", url, "--token-file", ann, "--schema", schema, "--json")
		if in := got.code == 0 && strings.Contains(got.stdout, topic); in != want || !want && !strings.Contains(got.stderr, "is not for this client") {
			t.Errorf("topic %s: %s", topic, got)
		}
	}
	guest := token(jwt.MapClaims{"sub": "guest", "iss": "me", "topics": "vip"})
	if got := runNova(t, "", "sub", "--topic", "vip", "--count", "1", "--url", url, "--token", guest, "--schema", schema, "--json"); got.code != 0 {
		t.Errorf("a topic that the token names: %s", got)
	}
}

// The end of a token's life ends its connection.
func TestServeExpiry(t *testing.T) {
	const secret = "a secret of more than thirty-two bytes"
	_, url := startServe(t, "--jwt-secret", secret, "--jwt-leeway", "0s", "--expiry-grace", "0s")
	claims := jwt.MapClaims{"sub": "ann", "exp": time.Now().Add(2 * time.Second).Unix()}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	got := runNova(t, "", "sub", "--topic", "t", "--url", url, "--token", text, "--schema", write(t, "tiny.json", tinySchema))
	if got.code != 1 || !strings.Contains(got.stderr, "4401") && !strings.Contains(got.stderr, "unauthenticated") {
		t.Error(got)
	}
}

// certificateFiles writes a self-signed certificate for 127.0.0.1 and returns its files.
func certificateFiles(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: serial, NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestServeTLS(t *testing.T) {
	cert, key := certificateFiles(t, t.TempDir(), "one")
	serve, url := startServe(t, "--tls-cert", cert, "--tls-key", key)
	if !strings.HasPrefix(url, "https://127.0.0.1:") {
		t.Fatalf("address %s", url)
	}
	if got := runNova(t, "", "health", "--url", url); got.code != 0 {
		t.Error(got)
	}
	plain := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := plain.Get(url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 200 || resp.TLS.PeerCertificates[0].DNSNames[0] != "one" {
		t.Errorf("%s %v", resp.Status, resp.TLS.PeerCertificates[0].DNSNames)
	}
	fails(t, 1, []string{"clients", "--url", url, "--token", adminToken}, "certificate")
	if code := serve.end(t); code != 0 {
		t.Errorf("exit %d: %s", code, serve.stderr)
	}
}
