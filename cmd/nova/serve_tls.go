package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ignex/nova/server"
)

// loadTLS reads the certificate; without one the server speaks plain. It is read
// again when its files change.
func (s *service) loadTLS() error {
	if s.cert == "" {
		return nil
	}
	var err error
	if s.certificate, err = server.LoadCertificate(s.cert, s.key, server.CertificateOptions{Logger: s.logger}); err != nil {
		return fmt.Errorf("cannot use the %w; check tls.cert and tls.key", err)
	}
	s.tls = &tls.Config{GetCertificate: s.certificate.GetCertificate, MinVersion: tls.VersionTLS12}
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
		if s.certificate == nil {
			s.logger.Info("SIGHUP: there is no certificate to read again; other settings need a restart")
		} else if err := s.certificate.Reload(); err != nil {
			s.logger.Error("SIGHUP: the certificate of before stays in use", "error", err)
		}
	}
}
