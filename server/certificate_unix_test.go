//go:build unix

package server_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ignex/nova/server"
)

// While one handshake reads files from a disk that hangs, the others go on.
func TestCertificateOnASlowDisk(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	cert, key := certificate(t, "a.test", time.Hour)
	replace(t, certFile, cert)
	replace(t, keyFile, key)
	c, err := server.LoadCertificate(certFile, keyFile, server.CertificateOptions{Every: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(certFile); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(certFile, 0o600); err != nil {
		t.Fatal(err)
	}
	get := func() <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := c.GetCertificate(nil)
			done <- err
		}()
		return done
	}
	first := get()
	disk, err := os.OpenFile(certFile, os.O_WRONLY, 0) // opens once it is being read
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-get():
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("the second handshake waits for the first")
	}
	disk.Close()
	if err := <-first; err != nil {
		t.Error(err)
	}
}
