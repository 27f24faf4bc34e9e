package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// CertificateOptions change LoadCertificate. The zero value works.
type CertificateOptions struct {
	// Every is how often, at most, a handshake looks whether the files have changed.
	// Default 1 s, negative = only Reload reads them.
	Every  time.Duration
	Logger *slog.Logger // default silent
}

// Certificate is a TLS certificate in files that may be replaced while it is used:
// new handshakes get the new one, connections are not touched. All methods may be
// called from any goroutine.
//
//	cert, err := server.LoadCertificate("tls.crt", "tls.key", server.CertificateOptions{})
//	web := srv.HTTPServer(mux)
//	web.TLSConfig = &tls.Config{GetCertificate: cert.GetCertificate}
//	err = web.ListenAndServeTLS("", "")
type Certificate struct {
	certFile, keyFile string
	options           CertificateOptions
	current           atomic.Pointer[tls.Certificate]

	mu     sync.Mutex // held while the files are read
	looked time.Time  // when they were looked at last
	loaded [2]stamp   // of the files that current is from
	failed string     // the error that was logged last
}

// stamp tells versions of a file apart.
type stamp struct {
	changed time.Time
	size    int64
}

// LoadCertificate reads a certificate with its chain, and its key, from PEM files. The
// error says which file is wrong.
func LoadCertificate(certFile, keyFile string, options CertificateOptions) (*Certificate, error) {
	if options.Every == 0 {
		options.Every = time.Second
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Certificate{certFile: certFile, keyFile: keyFile, options: options}
	if err := c.Reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// GetCertificate is for tls.Config. Files that cannot be used, such as a key that is
// not yet replaced, leave the certificate of before in use.
func (c *Certificate) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c.options.Every > 0 && c.mu.TryLock() { // else somebody reads them: one waits for the disk, not all
		defer c.mu.Unlock()
		if now := time.Now(); now.Sub(c.looked) >= c.options.Every {
			c.looked = now
			c.follow()
		}
	}
	return c.current.Load(), nil
}

// Reload reads the files now, changed or not. With an error the certificate of before
// stays in use.
func (c *Certificate) Reload() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	stamps, err := c.stamps()
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	return c.load(stamps)
}

// follow reads the files if they have changed. The caller holds mu.
func (c *Certificate) follow() {
	stamps, err := c.stamps()
	if err == nil && stamps == c.loaded {
		return
	}
	if err == nil {
		err = c.load(stamps)
	}
	if err != nil && err.Error() != c.failed {
		c.failed = err.Error()
		c.options.Logger.Error("certificate not reloaded; the one of before stays in use", "file", c.certFile, "error", err)
	}
}

func (c *Certificate) stamps() (stamps [2]stamp, err error) {
	for i, file := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(file)
		if err != nil {
			return [2]stamp{}, err
		}
		stamps[i] = stamp{info.ModTime(), info.Size()}
	}
	return stamps, nil
}

// load reads the files. The caller holds mu.
func (c *Certificate) load(stamps [2]stamp) error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("certificate: %s with key %s: %w", c.certFile, c.keyFile, err)
	}
	c.current.Store(&pair)
	c.loaded, c.failed = stamps, ""
	c.options.Logger.Info("certificate loaded", "file", c.certFile, "expires", pair.Leaf.NotAfter)
	if left := time.Until(pair.Leaf.NotAfter); left < expiresSoon {
		c.options.Logger.Warn("certificate expires soon", "file", c.certFile, "expires", pair.Leaf.NotAfter)
	}
	return nil
}

// expiresSoon is the time left at which a certificate should have been renewed.
const expiresSoon = 7 * 24 * time.Hour
