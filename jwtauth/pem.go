package jwtauth

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// parsePEM reads the keys of Options.PublicKeys.
func parsePEM(text []byte) ([]key, error) {
	var keys []key
	for n := 1; ; n++ {
		block, rest := pem.Decode(text)
		if block == nil {
			if n == 1 && len(text) > 0 || len(bytes.TrimSpace(text)) > 0 {
				return nil, fmt.Errorf("no PEM block number %d", n)
			}
			return keys, nil
		}
		material, err := parseBlock(block)
		if err != nil {
			return nil, fmt.Errorf("PEM block number %d: %w", n, err)
		}
		k, err := newKey("", material)
		if err != nil {
			return nil, fmt.Errorf("PEM block number %d holds %w", n, err)
		}
		keys, text = append(keys, k), rest
	}
}

func parseBlock(block *pem.Block) (any, error) {
	switch {
	case block.Type == "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case block.Type == "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case block.Type == "CERTIFICATE":
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return c.PublicKey, nil
	case strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil, errors.New("a private key; a server needs only the public one")
	}
	return nil, fmt.Errorf("unknown type %q; PUBLIC KEY, RSA PUBLIC KEY and CERTIFICATE are read", block.Type)
}

// looksPublic recognises a PEM block where a secret belongs: with it as a secret,
// everyone who knows the public key could sign.
func looksPublic(secret []byte) bool {
	block, _ := pem.Decode(secret)
	return block != nil
}
