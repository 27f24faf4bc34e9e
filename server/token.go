package server

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"github.com/ignex/nova"
)

// The subprotocol of the protocol, and how one begins that is a token: browsers can
// send no header of their own with an upgrade.
const (
	subprotocol      = "nova.v2"
	subprotocolToken = "nova.token."
)

var errTokenForm = errors.New("the subprotocol " + subprotocolToken + "… must be one token in unpadded base64url")

// bearer returns the token of the Authorization header.
func bearer(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// upgradeToken returns the token that an upgrade brings, "" for none: of the
// Authorization header, else of the subprotocol. It is nobody else's to see.
func upgradeToken(r *http.Request) (string, error) {
	if token := bearer(r); token != "" {
		return token, nil
	}
	token := ""
	for name := range subprotocols(r) {
		coded, ok := strings.CutPrefix(name, subprotocolToken)
		if !ok {
			continue
		}
		raw, err := base64.RawURLEncoding.Strict().DecodeString(coded)
		if err != nil || len(raw) == 0 || token != "" {
			return "", errTokenForm
		}
		token = string(raw)
	}
	return token, nil
}

// subprotocols are the names that a client offers.
func subprotocols(r *http.Request) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
			for name := range strings.SplitSeq(line, ",") {
				if !yield(strings.TrimSpace(name)) {
					return
				}
			}
		}
	}
}

// offersProtocol reports whether the answer has to name our subprotocol: browsers
// fail a handshake that names none of those they offered.
func offersProtocol(r *http.Request) bool {
	for name := range subprotocols(r) {
		if name == subprotocol {
			return true
		}
	}
	return false
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// checkToken asks Options.Token and CheckToken.
func (s *Server) checkToken(ctx context.Context, token string) error {
	o := &s.options
	if o.Token != "" && !equal(token, o.Token) {
		return nova.Errorf(nova.Unauthenticated, "token missing or not valid")
	}
	if o.CheckToken == nil {
		return nil
	}
	return o.CheckToken(ctx, token)
}

// redact takes a token out of a text that is to be logged.
func redact(text, token string) string {
	if token == "" {
		return text
	}
	return strings.ReplaceAll(text, token, "[token]")
}

// withoutTokens copies what an upgrade said, for hooks that run later: no body, no
// token, no context of a request that is over.
func withoutTokens(r *http.Request) *http.Request {
	header := r.Header.Clone()
	for name := range header {
		if name == "Authorization" || name == "Upgrade" || name == "Connection" || strings.HasPrefix(name, "Sec-Websocket-") {
			delete(header, name)
		}
	}
	return &http.Request{
		Method: r.Method, URL: r.URL, Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
		Header: header, Body: http.NoBody, Host: r.Host, RemoteAddr: r.RemoteAddr, RequestURI: r.RequestURI, TLS: r.TLS,
	}
}
