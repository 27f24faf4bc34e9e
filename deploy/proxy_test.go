package deploy_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// patience bounds every wait of these tests.
const patience = 30 * time.Second

// serveNova runs a server for proxies to stand before, and returns its address.
func serveNova(t *testing.T) string {
	t.Helper()
	addr := loopback(freePort(t))
	schema, err := filepath.Abs("../examples/seismic/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(buildNova(t), "serve", "--addr", addr, "--schema", schema, "--admin-token", "an-admin-token-of-some-length")
	cmd.Dir = t.TempDir() // not here, where it would find nova.yaml
	begin(t, cmd, "nova serve is up")
	return addr
}

// begin starts a program and waits for a line of its standard error, when it has
// one to say; the program is stopped with the test.
func begin(t *testing.T, cmd *exec.Cmd, ready string) {
	t.Helper()
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v (make setup installs what is missing)", err)
	}
	said := make(chan string, 1) // all of it, when the line came or the program ended
	read := make(chan struct{})
	go func() {
		defer close(read)
		var all strings.Builder
		waiting := true
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			all.WriteString(lines.Text() + "\n")
			if waiting && strings.Contains(lines.Text(), ready) {
				waiting = false
				said <- ""
			}
		}
		if waiting {
			said <- all.String()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		<-read
		_ = cmd.Wait() // by a signal
	})
	if ready == "" {
		return
	}
	select {
	case all := <-said:
		if all != "" {
			t.Fatalf("%s ended: %s", cmd.Path, all)
		}
	case <-time.After(patience):
		t.Fatalf("%s does not say %q", cmd.Path, ready)
	}
}

// certificate writes a self-signed one for events.example.com.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"events.example.com"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = put(t, dir, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return cert, put(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
}

// through checks what a proxy lets through: the WebSocket of a page of the same
// host, the health, and nothing of the administration.
func through(t *testing.T, base string, config *tls.Config) {
	t.Helper()
	web := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	awaitProxy(t, &web, base+"/health")
	for path, want := range map[string]int{"/health": 200, "/metrics": 404, "/schema": 404, "/api/publish": 404, "/": 404} {
		resp, err := web.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, resp.Status, want)
		}
	}
	dialer := websocket.Dialer{TLSClientConfig: config, HandshakeTimeout: patience}
	socket := "ws" + strings.TrimPrefix(base, "http") + "/ws"
	for origin, want := range map[string]bool{base: true, "https://evil.example.com": false} {
		conn, resp, err := dialer.Dial(socket, http.Header{"Origin": {origin}})
		if got := err == nil; got != want {
			t.Fatalf("origin %s: %v %v", origin, err, resp)
		}
		if err != nil {
			continue
		}
		if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"hello", "welcome"} {
			if kind, frame, err := conn.ReadMessage(); err != nil || kind != websocket.BinaryMessage || len(frame) < 24 {
				t.Errorf("%s: %d %x %v", what, kind, frame, err)
			}
		}
		conn.Close()
	}
}

// awaitProxy asks until the proxy answers.
func awaitProxy(t *testing.T, web *http.Client, address string) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(patience)
	for {
		resp, err := web.Get(address)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("no proxy: %v", err)
		}
	}
}

func TestNginx(t *testing.T) {
	dir, port := t.TempDir(), freePort(t)
	cert, key := certificate(t, dir)
	site := text(t, "nginx.conf")
	site = replace(t, site, "listen 443 ssl;", "listen "+loopback(port)+" ssl;")
	site = replace(t, site, "/etc/ssl/events.example.com.pem", cert)
	site = replace(t, site, "/etc/ssl/private/events.example.com.key", key)
	site = replace(t, site, "127.0.0.1:3000", serveNova(t))
	paths := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		paths += fmt.Sprintf("%s_temp_path %s;\n", kind, filepath.Join(dir, kind))
	}
	main := put(t, dir, "main.conf", fmt.Sprintf("daemon off;\nmaster_process off;\npid %s/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n%s%s}\n", dir, paths, site))
	run(t, "nginx", "-t", "-c", main)
	begin(t, exec.Command("nginx", "-c", main), "")
	through(t, "https://"+loopback(port), &tls.Config{InsecureSkipVerify: true})
}

func TestCaddy(t *testing.T) {
	dir, port := t.TempDir(), freePort(t)
	site := replace(t, text(t, "Caddyfile"), "\nevents.example.com {", "\nhttp://"+loopback(port)+" {")
	site = replace(t, site, "127.0.0.1:3000", serveNova(t))
	file := put(t, dir, "Caddyfile", "{\n\tadmin off\n}\n"+site)
	cmd := exec.Command("caddy", "run", "--adapter", "caddyfile", "--config", file)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
	begin(t, cmd, "serving initial configuration")
	through(t, "http://"+loopback(port), nil)
}
