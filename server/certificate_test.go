package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

// certificate makes a self-signed one.
func certificate(t *testing.T, name string, life time.Duration) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

// replace puts a file in the place of another in one step, as tools for certificates
// do.
func replace(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// presented returns the name in the certificate a new connection is shown.
func presented(t *testing.T, addr string) string {
	t.Helper()
	nc, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	return nc.ConnectionState().PeerCertificates[0].Subject.CommonName
}

func TestCertificateIsReloaded(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	oneCert, oneKey := certificate(t, "one", 30*24*time.Hour)
	replace(t, certFile, oneCert)
	replace(t, keyFile, oneKey)
	var log lockedLog
	cert, err := server.LoadCertificate(certFile, keyFile, server.CertificateOptions{Every: time.Nanosecond, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, hub.Options{}, server.Options{})
	secure := httptest.NewUnstartedServer(r.srv)
	secure.TLS = &tls.Config{GetCertificate: cert.GetCertificate}
	secure.StartTLS()
	defer secure.Close()
	secure.TLS.Certificates = nil // of httptest
	addr := secure.Listener.Addr().String()
	if name := presented(t, addr); name != "one" {
		t.Fatalf("presented %q", name)
	}
	old := dialTLS(t, secure)
	old.send(&control.Hello{Version: 2})
	old.sync()

	twoCert, twoKey := certificate(t, "two", 24*time.Hour)
	replace(t, certFile, twoCert) // its key is yet to come
	for range 3 {
		if name := presented(t, addr); name != "one" {
			t.Errorf("with a key of another certificate %q is presented", name)
		}
	}
	if err := cert.Reload(); err == nil || !strings.Contains(err.Error(), certFile) {
		t.Errorf("reload: %v", err)
	}
	replace(t, keyFile, twoKey)
	if name := presented(t, addr); name != "two" {
		t.Errorf("after the replacement %q is presented", name)
	}
	if err := os.Remove(keyFile); err != nil {
		t.Fatal(err)
	}
	if name := presented(t, addr); name != "two" {
		t.Errorf("without its file %q is presented", name)
	}
	r.publish(nova.Broadcast(), 1)
	old.quote(1) // the connection of before lives
	text := log.String()
	if n := strings.Count(text, "certificate not reloaded"); n != 2 {
		t.Errorf("%d lines about a failed reload, want one for each cause:\n%s", n, text)
	}
	if strings.Count(text, "certificate loaded") != 2 || strings.Count(text, "certificate expires soon") != 1 || strings.Contains(text, "PRIVATE") {
		t.Errorf("logged\n%s", text)
	}
}

func TestCertificateByReloadOnly(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	write := func(name string) {
		c, k := certificate(t, name, time.Hour)
		replace(t, certFile, c)
		replace(t, keyFile, k)
	}
	write("one")
	cert, err := server.LoadCertificate(certFile, keyFile, server.CertificateOptions{Every: -1})
	if err != nil {
		t.Fatal(err)
	}
	name := func() string {
		c, err := cert.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.Leaf.Subject.CommonName
	}
	write("two")
	if got := name(); got != "one" {
		t.Errorf("before Reload: %q", got)
	}
	if err := cert.Reload(); err != nil || name() != "two" {
		t.Errorf("after Reload: %q, %v", name(), err)
	}
}

func TestCertificateErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		replace(t, path, text)
		return path
	}
	cert, key := certificate(t, "x", time.Hour)
	_, other := certificate(t, "x", time.Hour)
	good, goodKey := file("good.crt", cert), file("good.key", key)
	for name, files := range map[string][2]string{
		"no certificate":  {filepath.Join(dir, "none.crt"), goodKey},
		"no key":          {good, filepath.Join(dir, "none.key")},
		"no PEM":          {file("junk", []byte("junk")), goodKey},
		"another's key":   {good, file("other.key", other)},
		"a directory":     {dir, goodKey},
		"empty key":       {good, file("empty", nil)},
		"key in its crt":  {goodKey, goodKey},
		"empty file name": {"", goodKey},
	} {
		if _, err := server.LoadCertificate(files[0], files[1], server.CertificateOptions{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
