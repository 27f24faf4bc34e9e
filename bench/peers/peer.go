package peers

import (
	"os"
	"strconv"
)

// Peer is a server program in one configuration.
type Peer struct {
	Name     string
	About    string
	Program  string   // of this binary, "" for Script
	Flags    []string // of Program
	Script   string   // in the folder js
	Protocol string
	TLS      bool
	Free     bool // server and client may use every processor
	Env      []string
}

// Peers returns all peers; the first is the one the others are compared with.
func Peers() []Peer {
	return []Peer{
		{Name: "nova", About: "defaults: sessions and topic history on", Program: "nova", Protocol: "nova"},
		{Name: "nova-plain", About: "sessions and history off", Program: "nova", Flags: []string{"-plain"}, Protocol: "nova"},
		{Name: "nova-send", About: "a system call for each write, as without io_uring", Program: "nova", Flags: []string{"-send"}, Protocol: "nova"},
		{Name: "nova-tls", About: "defaults, over TLS 1.3", Program: "nova", Flags: []string{"-tls"}, Protocol: "nova", TLS: true},
		{Name: "nova-256", About: "defaults, topics keep 256 frames", Program: "nova", Flags: []string{"-history", "256"}, Protocol: "nova"},
		{Name: "nova-raw", About: "inbound frames dispatched, not decoded", Program: "nova", Flags: []string{"-raw"}, Protocol: "nova"},
		{Name: "nova-batch", About: "defaults, clients with batch/1", Program: "nova", Protocol: "nova-batch"},
		{Name: "nova-text", About: "defaults, JSON as payload", Program: "nova", Flags: []string{"-text"}, Protocol: "nova"},
		{Name: "nova-deflate", About: "the same, compressed once at level 1", Program: "nova", Flags: []string{"-text", "-deflate", "1"}, Protocol: "nova-deflate"},
		{Name: "gorilla-deflate", About: "compresses for each connection, level 1", Program: "gorilla-deflate", Protocol: "raw-deflate"},
		{Name: "nova-p1", About: "GOMAXPROCS 1, nothing pinned", Program: "nova", Protocol: "nova", Free: true, Env: []string{"GOMAXPROCS=1"}},
		{Name: "nova-p2", About: "GOMAXPROCS 2, nothing pinned", Program: "nova", Protocol: "nova", Free: true, Env: []string{"GOMAXPROCS=2"}},
		{Name: "centrifuge", About: "library, its defaults", Program: "centrifuge", Protocol: "centrifuge"},
		{Name: "centrifuge-10ms", About: "library, WriteDelay 10 ms", Program: "centrifuge", Flags: []string{"-delay", "10ms"}, Protocol: "centrifuge"},
		{Name: "nats", About: "nats-server embedded, WebSocket", Program: "nats", Protocol: "nats"},
		{Name: "gws", About: "Broadcaster", Program: "gws", Protocol: "raw"},
		{Name: "gorilla", About: "channel and goroutine per connection, prepared messages", Program: "gorilla", Protocol: "raw"},
		{Name: "coder", About: "channel and goroutine per connection", Program: "coder", Protocol: "raw"},
		{Name: "socketio", About: "Socket.IO on Node, WebSocket transport", Script: "socketio.mjs", Protocol: "socketio"},
		{Name: "bun", About: "Bun.serve, server.publish", Script: "bun.mjs", Protocol: "raw"},
		{Name: "bare", About: "no WebSocket: one write call per connection and batch", Program: "bare", Protocol: "bare"},
	}
}

// command returns the server's command line. self is this binary, js the folder
// of scripts, profile a file for the CPU profile of servers in Go, "" = none.
func (p *Peer) command(self, js, profile string, size int) []string {
	bytes := strconv.Itoa(size)
	switch p.Script {
	case "":
		command := append([]string{self, "serve"}, p.Flags...)
		if profile != "" {
			command = append(command, "-profile", profile)
		}
		return append(command, "-size", bytes, p.Program)
	case "bun.mjs":
		return []string{js + "/node_modules/.bin/bun", js + "/" + p.Script, bytes}
	}
	return []string{"node", "--expose-gc", js + "/" + p.Script, bytes}
}

// env returns the environment of the server, without what would change how it
// runs.
func (p *Peer) env() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, p.Env...)
}
