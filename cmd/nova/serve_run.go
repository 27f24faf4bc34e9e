package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/sparse"
	"github.com/ignex/nova/jwtauth"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/topiclog/filelog"
)

// endTime bounds what follows the drain: requests that run, the hub, the log.
const endTime = 5 * time.Second

// service is what one nova serve runs.
type service struct {
	*serveOptions
	logger *slog.Logger
	schema *nova.Schema
	tls    *tls.Config // nil = plain
	auth   *jwtauth.Authenticator
	topics *filelog.Log
	hub    *hub.Hub
	srv    *server.Server

	certificate *server.Certificate // nil = plain
}

// run serves until ctx ends or the listener fails.
func (o *serveOptions) run(ctx context.Context, stderr io.Writer) (err error) {
	s := &service{serveOptions: o, logger: o.logger(stderr)}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.build(ctx); err != nil {
		return err
	}
	listener, err := listen(ctx, o.addr)
	if err != nil {
		return err
	}
	return s.serve(ctx, listener)
}

// build makes everything but the listener. What it made is closed by close, also
// when it fails.
func (s *service) build(ctx context.Context) error {
	layout, err := loadLayout(s.serveOptions.schema)
	if err != nil {
		return err
	}
	if s.schema, err = nova.SchemaOf(layout); err != nil {
		return err
	}
	if err := s.loadTLS(); err != nil {
		return err
	}
	if err := s.openLog(ctx); err != nil {
		return err
	}
	if s.auth, err = s.jwt.open(ctx, s.logger); err != nil {
		return err
	}
	if s.hub, err = hub.New(s.hubOptions()); err != nil {
		return err
	}
	s.srv, err = server.New(s.hub, s.serverOptions())
	if err != nil {
		return &usageError{strings.NewReplacer("server: ", "", "Options.Origins", "origins", "Options.TrustedProxies", "trusted-proxies").Replace(err.Error())}
	}
	return nil
}

func (s *service) openLog(ctx context.Context) error {
	if s.log.dir == "" {
		return nil
	}
	options := s.log.Options
	options.Logger = s.logger
	if options.MaxBytes == 0 {
		options.MaxBytes = -1
	}
	if options.MaxAge == 0 {
		options.MaxAge = -1
	}
	var err error
	if s.topics, err = filelog.Open(ctx, s.log.dir, options); err != nil {
		return fmt.Errorf("%w; check filelog.dir", err)
	}
	return nil
}

// hubOptions turns settings into options, in which 0 is the default.
func (s *service) hubOptions() hub.Options {
	o := s.serveSettings.hub
	o.Schema, o.Logger = s.schema, s.logger
	o.Topics = s.serveSettings.topics
	if s.topics != nil {
		o.Log = s.topics
	}
	o.AuthorizeTopic = authorizer("topic", s.access.topics, func(g granted) []string { return g.Topics })
	o.AuthorizeGroup = authorizer("group", s.access.groups, func(g granted) []string { return g.Groups })
	if o.Session.TTL == 0 {
		o.Session.TTL = -1
	}
	if o.History.Size == 0 {
		o.History.Size = -1
	}
	return o
}

func (s *service) serverOptions() server.Options {
	o := s.serveSettings.server
	o.Logger = s.logger
	if s.auth != nil {
		o.Authenticate = s.authenticate
	}
	if o.ExpiryGrace == 0 {
		o.ExpiryGrace = -1
	}
	if o.AcceptRate == 0 {
		o.AcceptRate = -1
	}
	switch r := &o.RateLimit; {
	case r.MessagesPerSecond == 0 && r.PerUser == 0 && r.PerIP == 0:
		*r = server.RateLimit{} // off, whatever burst and policy say
	case r.MessagesPerSecond == 0:
		r.MessagesPerSecond = -1
	}
	if o.MaxUndecodable == 0 {
		o.MaxUndecodable = -1
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = -1
	}
	return o
}

// routes are the WebSocket, the server's own, and the HTTP API behind the admin
// token.
func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(s.path, s.srv)
	mux.Handle("/", s.srv.Routes())
	if token := s.server.AdminToken; token != "" {
		mux.Handle("/api/publish", server.PublishHandler(s.hub, s.schema.Layout(), server.PublishOptions{Token: token, Logger: s.logger}))
	}
	return mux
}

// serve answers until ctx ends, then sends everyone away.
func (s *service) serve(ctx context.Context, listener net.Listener) error {
	web := s.srv.HTTPServer(s.routes())
	web.TLSConfig, web.IdleTimeout, web.ErrorLog = s.tls, 2*time.Minute, log.New(&webErrors{logger: s.logger}, "", 0)
	failed := make(chan error, 1)
	go func() {
		if s.tls != nil {
			failed <- web.ServeTLS(listener, "", "")
			return
		}
		failed <- web.Serve(listener)
	}()
	var tasks sync.WaitGroup
	hangups, stop := context.WithCancel(ctx)
	tasks.Go(func() { s.followHangups(hangups) })
	defer tasks.Wait()
	defer stop()
	s.greet(listener)
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", s.addr, err)
	case <-ctx.Done():
	}
	s.leave(ctx)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if web.Shutdown(ending) != nil { // among them those of strangers who only began one
		s.logger.Warn("requests were cut off: they did not end in time", "time", endTime)
		web.Close()
	}
	<-failed
	return nil
}

// leave sends the clients away, within the drain.
func (s *service) leave(ctx context.Context) {
	s.logger.Info("shutting down", "drain", s.drain)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drain)
	defer cancel()
	if err := s.srv.Shutdown(ctx); err != nil {
		s.logger.Warn("clients were cut off: they did not go within the drain", "drain", s.drain)
	}
}

// close ends what build made, in the opposite order.
func (s *service) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	var err error
	if s.srv != nil {
		s.srv.Close()
	}
	if s.hub != nil {
		err = s.hub.Close(ctx)
	}
	if s.auth != nil {
		err = errors.Join(err, s.auth.Close(ctx))
	}
	if s.topics != nil {
		err = errors.Join(err, s.topics.Close())
	}
	return err
}

// greet logs what is served, and what an operator should know of it.
func (s *service) greet(listener net.Listener) {
	scheme := "ws"
	if s.tls != nil {
		scheme = "wss"
	}
	s.logger.Info("nova serve is up", "url", scheme+strings.TrimPrefix(pageURL(listener), "http")+s.path,
		"schema", s.schema.Name(), "fingerprint", s.schema.Fingerprint())
	if s.server.AdminToken == "" {
		s.logger.Warn("no admin.token: nobody can publish over HTTP, and the administrative routes are off")
	}
	if s.server.Token == "" && s.auth == nil {
		s.logger.Warn("no token and no jwt: everyone may connect")
	}
	if s.logsNothing() {
		s.logger.Warn("filelog.dir is given, but no topic is logged: add log: true to a rule in topics")
	}
	if text := descriptorWarning(s.server.MaxConnections); text != "" {
		s.logger.Warn(text)
	}
}

// webErrors takes the lines of the HTTP server. Strangers cause them: they must not
// fill the log. Handshakes that fail are what port scans leave behind.
type webErrors struct {
	logger *slog.Logger
	sparse sparse.Log
}

func (w *webErrors) Write(line []byte) (int, error) {
	text, level := strings.TrimSpace(string(line)), slog.LevelWarn
	if strings.Contains(text, "TLS handshake error") {
		level = slog.LevelDebug
	}
	w.sparse.Write(w.logger, level, "a connection failed", level.String(), "error", text)
	return len(line), nil
}
