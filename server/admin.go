package server

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/ignex/nova"
)

// Admin lets only administrators through: with AdminToken as a bearer token, or
// with AuthorizeAdmin's consent. With neither set the route does not exist. What lets
// a client connect opens nothing here.
func (s *Server) Admin(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		o := &s.options
		w.Header().Set("Cache-Control", "no-store")
		if o.AdminToken == "" && o.AuthorizeAdmin == nil {
			http.NotFound(w, r)
			return
		}
		if o.AdminToken != "" && equal(bearer(r), o.AdminToken) {
			next(w, r)
			return
		}
		err := errors.New("the admin token is missing or not valid")
		if o.AuthorizeAdmin != nil {
			err = s.authorizeAdmin(r)
		}
		if err == nil {
			next(w, r)
			return
		}
		refuseAdmin(w, err)
	}
}

func (s *Server) authorizeAdmin(r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Logger.Error("AuthorizeAdmin panicked", "panic", p)
			err = errors.New("not authorized")
		}
	}()
	return s.options.AuthorizeAdmin(r)
}

// refuseAdmin answers with the status of the error's code; one without is not known
// to be meant for strangers, and is not shown.
func refuseAdmin(w http.ResponseWriter, err error) {
	status, text := http.StatusUnauthorized, "the admin token is missing or not valid"
	var coded *nova.Error
	if errors.As(err, &coded) {
		status, text = coded.Code.HTTPStatus(), coded.Message
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	http.Error(w, text, status)
}

// FromLoopback is an AuthorizeAdmin for programs on a developer's machine: it
// consents to requests of this machine for this machine, which no proxy passed on
// and no page of a host name that was rebound to it makes. To others there is nothing.
func FromLoopback(r *http.Request) error {
	if fromLoopback(r) {
		return nil
	}
	return nova.Errorf(nova.NotFound, "404 page not found")
}

// reading lets only GET and HEAD through.
func reading(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, fmt.Sprintf("method %s; use GET", r.Method), http.StatusMethodNotAllowed)
			return
		}
		next(w, r)
	}
}
