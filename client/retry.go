package client

import (
	"net/http"
	"strings"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/internal/ws"
)

// ending is how one attempt to be connected ended.
type ending struct {
	code   int           // WebSocket close code; CodeAbnormal: the connection was lost
	status int           // of an HTTP refusal, 0 = none
	reason string        // from the close frame
	err    error         // what to tell
	after  time.Duration // what the server asked to wait, 0 = nothing
	framed bool          // a frame came
	own    bool          // the code is our judgement of what the server sent
	lasted time.Duration // since the welcome, 0 = never welcome
}

// Close codes of the protocol (docs/protocol.md, "Close codes").
const (
	codeGoingAway    = 1001
	codeUnsupported  = 1003
	codeNoExtension  = 1010
	codePolicy       = 1008
	codePaused       = 4000
	codeUnauthorized = 4401
	codeForbidden    = 4403

	reasonRate = "rate limit" // how a 1008 that may come back begins

	// maxAfter bounds what a server may ask for, so that a bad value does not
	// keep a client away for ever.
	maxAfter = 10 * time.Minute
)

// retry decides after each ending whether and when to try again. It knows no
// time and no chance of its own.
type retry struct {
	Reconnect
	hasToken bool
	attempt  int // endings since the last stable connection
	early    int // endings before the first frame in a row
	denied   int // refused tokens in a row
}

type decision struct {
	stop  error // not nil: for good
	wait  time.Duration
	token bool // fetch a new token first
}

// next decides; random is in [0, 1).
func (r *retry) next(e ending, random float64) decision {
	if e.lasted >= r.Stable {
		r.attempt = 0
	}
	if e.lasted > 0 { // the token was good
		r.denied = 0
	}
	if e.framed {
		r.early = 0
	} else {
		r.early++
	}
	if stop := r.final(e); stop != nil {
		return decision{stop: stop}
	}
	d := decision{token: r.early >= 2}
	if unauthorized(e) {
		r.denied++
		d.token = true
	}
	if e.after > 0 {
		d.wait = min(e.after, maxAfter)
		return d
	}
	if e.code == codePolicy {
		// The full window, and never its first half: a hasty return meets the
		// same limit.
		d.wait = r.Max/2 + time.Duration(random*float64(r.Max/2))
		return d
	}
	d.wait = time.Duration(random * float64(r.window()))
	r.attempt++
	return d
}

func (r *retry) window() time.Duration {
	w := r.Initial
	for range r.attempt {
		if w >= r.Max {
			return r.Max
		}
		w *= 2
	}
	return min(w, r.Max)
}

func unauthorized(e ending) bool {
	return e.code == codeUnauthorized || e.status == http.StatusUnauthorized
}

// final returns the error to end with, nil when another attempt makes sense.
func (r *retry) final(e ending) error {
	switch {
	case unauthorized(e):
		if !r.hasToken || r.denied > 0 {
			return nova.Errorf(nova.Unauthenticated, "the server refused the token: %w", e.err)
		}
	case e.code == codeForbidden || e.status == http.StatusForbidden:
		return nova.Errorf(nova.Denied, "the server refused the connection: %w", e.err)
	case e.code == ws.CodeNormal:
		return nova.Errorf(nova.Unavailable, "the server closed the connection: %w", e.err)
	case e.code == ws.CodeProtocol, e.code == ws.CodeBadUTF8 && !e.own, e.code == codeNoExtension, e.code == codePaused:
		return nova.Errorf(nova.FailedPrecondition, "the two sides do not speak the same protocol: %w", e.err)
	case e.code == codeUnsupported, e.code == ws.CodeTooBig:
		return nova.Errorf(nova.Invalid, "the connection cannot go on: %w", e.err)
	case e.code == codePolicy && !strings.HasPrefix(e.reason, reasonRate):
		return nova.Errorf(nova.Denied, "the server's policy ended the connection: %w", e.err)
	}
	if r.Off {
		return nova.Errorf(nova.Unavailable, "the connection was lost: %w", e.err)
	}
	return nil
}
