package main

import (
	"math"
	"time"

	"github.com/ignex/nova/cmd/nova/config"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/jwtauth"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/topiclog/filelog"
)

// serveSettings is all that nova serve can be told. The defaults stand here and not
// in the packages they are for, so that nova config can show them; in a setting 0
// means none, or off, never the default.
type serveSettings struct {
	schema    string
	addr      string
	path      string
	drain     time.Duration
	logLevel  int
	logFormat int

	cert, key string
	jwt       jwtSettings
	access    accessRules
	topics    []hub.TopicRule
	log       logSettings

	hub    hub.Options
	server server.Options
}

// jwtSettings are the keys of JSON Web Tokens and what these must say.
type jwtSettings struct {
	secret     string
	publicKeys string // files
	keySet     string
	jwtauth.Options
}

// logSettings are those of the log of topics; without a directory there is none.
type logSettings struct {
	dir string
	filelog.Options
}

// jsonLog is the place of json in log-format.
const jsonLog = 1

// Bounds of settings that have no natural one.
const (
	day     = 24 * time.Hour
	tebi    = 1 << 40
	million = 1_000_000
)

// declare makes the settings with their defaults.
func (o *serveSettings) declare() *config.Set {
	s := config.New()
	o.declareServing(s)
	o.declareEntering(s)
	o.declareLimits(s)
	o.declareTopics(s)
	return s
}

func (o *serveSettings) declareServing(s *config.Set) {
	o.addr, o.path, o.drain, o.logLevel = ":3000", "/ws", 15*time.Second, 1
	s.Path(&o.schema, "schema", "JSON Schema file of the events; required")
	s.Text(&o.addr, "addr", "address to listen on")
	s.Text(&o.path, "path", "path of the WebSocket")
	s.Duration(&o.drain, "drain", 0, time.Hour, "time to send clients away after SIGTERM; 0 = at once")
	config.Choice(s, &o.logLevel, "log-level", "least level of log lines", "debug", "info", "warn", "error")
	config.Choice(s, &o.logFormat, "log-format", "form of log lines", "text", "json")
	s.Path(&o.cert, "tls.cert", "certificate chain (PEM); with tls.key serves https and wss")
	s.Path(&o.key, "tls.key", "private key (PEM)")
}

func (o *serveSettings) declareEntering(s *config.Set) {
	s.Secret(&o.server.AdminToken, "admin.token", "bearer token of the administrative routes and of publishing; without one they do not exist")
	s.Secret(&o.server.Token, "token", "bearer token that every client must bring; default none")
	j := &o.jwt
	j.Leeway, j.UserClaim = 30*time.Second, "sub"
	s.Secret(&j.secret, "jwt.secret", "shared secret of HS256 (32 bytes or more), HS384 (48) or HS512 (64) tokens")
	s.Path(&j.publicKeys, "jwt.public-key-file", "public keys (PEM) of RS, PS, ES and EdDSA tokens")
	s.Path(&j.keySet, "jwt.key-set-file", "JSON Web Key Set")
	s.Text(&j.KeySetURL, "jwt.key-set-url", "where the issuer publishes its key set; read again as keys change")
	s.List(&j.Algorithms, "jwt.algorithms", "algorithms to accept; default all that the keys can do")
	s.Text(&j.Issuer, "jwt.issuer", "what iss must be; default not checked")
	s.List(&j.Audience, "jwt.audience", "what aud must hold one of; default not checked")
	s.Text(&j.Type, "jwt.type", "what typ must be, such as at+jwt; default not checked")
	s.Bool(&j.RequireExpiry, "jwt.require-expiry", "refuse tokens without exp")
	s.Duration(&j.Leeway, "jwt.leeway", 0, time.Hour, "how far the clocks may differ")
	s.Text(&j.UserClaim, "jwt.user-claim", "claim of the user, or a JSON pointer to it")
	s.Text(&j.ClientClaim, "jwt.client-claim", "claim of the client id; default none")
	s.Text(&j.GroupsClaim, "jwt.groups-claim", "claim of the groups a client is in from the start; default none")
	s.Text(&j.TopicsClaim, "jwt.topics-claim", "claim of the topics it is subscribed to from the start; default none")
	v := &o.server
	v.ExpiryGrace, v.MaxUnauthenticated, v.MaxUnauthenticatedPerIP = 15*time.Second, 1000, 10
	s.Duration(&v.ExpiryGrace, "expiry-grace", 0, day, "time to bring a new token after the old one has expired")
	s.Duration(&v.LateAuth, "late-auth", 0, time.Hour, "time to bring the token after connecting; 0 = with the upgrade")
	s.Int(&v.MaxUnauthenticated, "max-unauthenticated", 1, 100*million, "connections that have not brought it yet")
	s.Int(&v.MaxUnauthenticatedPerIP, "max-unauthenticated-per-ip", 1, 100*million, "the same of one address")
	s.List(&o.server.Origins, "origins", "browser origins to let in, such as https://*.example.com; default the same host")
	config.Choice(s, &o.server.DuplicateID, "duplicate-id", "a second connection of one client id replaces the first or is refused", "replace", "reject")
	s.List(&o.access.topics, "access.topics", "patterns of topics that clients may subscribe to, such as public.> or user.{user}; default all")
	s.List(&o.access.groups, "access.groups", "likewise for groups")
}

func (o *serveSettings) declareLimits(s *config.Set) {
	v := &o.server
	v.AcceptRate, v.AcceptBurst, v.MaxMessageSize, v.MaxUndecodable = 1000, 2000, 64<<10, 16
	v.HandshakeTimeout, v.Heartbeat, v.WriteStall = 10*time.Second, 25*time.Second, 30*time.Second
	s.Int(&v.MaxConnections, "max-connections", 0, 100*million, "connections at once; 0 = no limit")
	s.Int(&v.MaxConnectionsPerIP, "max-connections-per-ip", 0, 100*million, "of one address, or network of 64 bits; 0 = no limit")
	s.Int(&v.MaxConnectionsPerUser, "max-connections-per-user", 0, 100*million, "of one user; 0 = no limit")
	s.List(&v.TrustedProxies, "trusted-proxies", "addresses or networks whose Forwarded and X-Forwarded-For tell the client's; default none")
	s.Rate(&v.AcceptRate, "accept-rate", "new connections a second; 0 = no limit")
	s.Int(&v.AcceptBurst, "accept-burst", 1, 100*million, "new connections at once")
	config.Size(s, &v.MaxMessageSize, "max-message-size", 1, 1<<30, "size of a message from a client")
	v.MaxPartialBytes = 64 << 20
	config.Size(s, &v.MaxPartialBytes, "max-partial-bytes", 1, 64*tebi, "size of messages that have come in part, of all clients")
	s.Int(&v.MaxUndecodable, "max-undecodable", 0, million, "malformed frames after which a client is closed; 0 = no limit")
	s.Duration(&v.HandshakeTimeout, "handshake-timeout", time.Millisecond, time.Hour, "time for the first frames of a client")
	s.Duration(&v.Heartbeat, "heartbeat", 0, day, "silence after which a client is pinged; 0 = never")
	s.Duration(&v.WriteStall, "write-stall", time.Millisecond, day, "time after which a client that takes nothing is closed")
	s.Int(&v.Compression.Level, "compression.level", 0, 9, "permessage-deflate for clients that offer it, 1 to 9; 0 = off")
	v.Compression.MinSize = 512
	s.Int(&v.Compression.MinSize, "compression.min-size", 1, 1<<20, "bytes of a frame below which it is not compressed")
	r := &v.RateLimit
	s.Rate(&r.MessagesPerSecond, "rate-limit.messages", "messages a second of one connection; 0 = no limit")
	s.Int(&r.Burst, "rate-limit.burst", 0, 100*million, "messages at once; 0 = those of one second")
	s.Rate(&r.PerUser, "rate-limit.per-user", "messages a second of one user; 0 = no limit")
	s.Rate(&r.PerIP, "rate-limit.per-ip", "messages a second of one address; 0 = no limit")
	config.Choice(s, &r.Policy, "rate-limit.policy", "what comes too early waits, is dropped, or closes the connection", "delay", "drop", "close")
	h := &o.hub
	h.MaxTopicsPerClient, h.MaxNameLength = 128, 255
	s.Int(&h.MaxTopicsPerClient, "max-topics-per-client", 1, million, "topics, and groups, that a client may be in")
	s.Int(&h.MaxNameLength, "max-name-length", 1, 4096, "bytes of a name of a topic, group, user or client")
	q := &h.Backpressure
	q.MaxFrames, q.MaxBytes = 1024, 1<<20
	s.Int(&q.MaxFrames, "queue.frames", 1, 100*million, "frames waiting for one client")
	config.Size(s, &q.MaxBytes, "queue.bytes", 1, 1<<40, "and their size; also the largest event")
	config.Choice(s, &q.Policy, "queue.policy", "what becomes of a queue that is full", "drop-oldest", "drop-newest", "disconnect")
	e := &h.Session
	e.TTL, e.MaxFrames, e.MaxBytes, e.TotalBytes = time.Minute, 16384, 1<<20, 256<<20
	s.Duration(&e.TTL, "session.ttl", 0, 30*day, "how long a session waits for its client to come back; 0 = not at all")
	s.Int(&e.MaxFrames, "session.frames", 1, 100*million, "written frames kept for it")
	config.Size(s, &e.MaxBytes, "session.bytes", 1, tebi, "and their size")
	config.Size(s, &e.TotalBytes, "session.total-bytes", 1, 64*tebi, "the same over all sessions")
	s.Int(&e.MaxSessions, "session.max", 0, 100*million, "sessions with and without a connection; 0 = twice max-connections, or 200000")
}

func (o *serveSettings) declareTopics(s *config.Set) {
	h := &o.hub.History
	h.Size, h.Idle, h.TotalBytes, h.MaxTopics, o.hub.LogWait = 64, 10*time.Minute, 256<<20, 100_000, 2*time.Second
	s.Int(&h.Size, "history.size", 0, 100*million, "events kept of each topic; 0 = none")
	s.Duration(&h.Idle, "history.idle", time.Second, 365*day, "time after which an unused topic is forgotten")
	config.Size(s, &h.TotalBytes, "history.total-bytes", 1, 64*tebi, "size of the events of all topics")
	s.Int(&h.MaxTopics, "history.max-topics", 1, 100*million, "topics at once")
	config.Choice(s, &o.hub.Int64Guard, "int64-guard", "what to do with integers that browsers cannot hold", "warn", "refuse", "off")
	config.Records(s, &o.topics, "topics", "rules for topics: pattern, size, ttl, max-members, log, log-policy; the first that matches counts", declareRule)
	l := &o.log
	l.SyncEvery, l.MaxBytes, l.MaxAge = 50*time.Millisecond, 1<<30, 7*day
	s.Path(&l.dir, "filelog.dir", "directory of the log of topics whose rule says log")
	config.Choice(s, &l.Sync, "filelog.sync", "when to call fsync", "interval", "always", "never")
	s.Duration(&l.SyncEvery, "filelog.sync-every", time.Millisecond, time.Hour, "with sync interval")
	config.Size(s, &l.MaxBytes, "filelog.max-bytes", 0, math.MaxInt64, "size of all files; 0 = no limit")
	s.Duration(&l.MaxAge, "filelog.max-age", 0, 100*365*day, "age of frames; 0 = no limit")
	s.Duration(&o.hub.LogWait, "filelog.wait", time.Millisecond, time.Hour, "time to wait for the log before log-policy applies")
}

func declareRule(s *config.Set, r *hub.TopicRule) {
	s.Text(&r.Pattern, "pattern", "names in parts with dots; * is one part, > the rest")
	s.Int(&r.Size, "size", -1, 100*million, "events kept; 0 = history.size, -1 = none")
	s.Duration(&r.TTL, "ttl", 0, 100*365*day, "age of events; 0 = no limit")
	s.Int(&r.MaxMembers, "max-members", 0, 100*million, "clients in the topic; 0 = no limit")
	s.Bool(&r.Log, "log", "keep the topic in the log")
	config.Choice(s, &r.LogPolicy, "log-policy", "while the log is away", "degrade", "hold")
}
