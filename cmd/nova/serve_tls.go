package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// certificate is the one in the files of tls.cert and tls.key, as it was read last.
type certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
}

func (c *certificate) reload() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("cannot use the certificate (%w); check tls.cert %s and tls.key %s", err, c.certFile, c.keyFile)
	}
	c.current.Store(&pair)
	return nil
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.current.Load(), nil
}

// loadTLS reads the certificate; without one the server speaks plain.
func (s *service) loadTLS() error {
	if s.cert == "" {
		return nil
	}
	s.certificate = &certificate{certFile: s.cert, keyFile: s.key}
	if err := s.certificate.reload(); err != nil {
		return err
	}
	s.tls = &tls.Config{GetCertificate: s.certificate.get, MinVersion: tls.VersionTLS12}
	return nil
}

// followHangups reads the certificate again on each SIGHUP, until ctx ends. Without
// one the signal changes nothing, but does not end the process either.
func (s *service) followHangups(ctx context.Context) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		switch {
		case s.certificate == nil:
			s.logger.Info("SIGHUP: there is no certificate to read again; other settings need a restart")
		default:
			if err := s.certificate.reload(); err != nil {
				s.logger.Error("SIGHUP: the certificate of before stays in use", "error", err)
				continue
			}
			s.logger.Info("SIGHUP: certificate read again")
		}
	}
}
