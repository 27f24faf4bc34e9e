package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"

	"github.com/ignex/nova/bench/peers/load"
	"github.com/ignex/nova/bench/peers/servers"
)

// serve is one server process.
func serve(args []string) (err error) {
	var o servers.Options
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.IntVar(&o.Size, "size", 100, "payload bytes")
	fs.DurationVar(&o.WriteDelay, "delay", 0, "centrifuge: WriteDelay")
	fs.IntVar(&o.History, "history", 0, "nova: frames a topic keeps")
	fs.BoolVar(&o.Send, "send", false, "nova: without io_uring")
	fs.BoolVar(&o.Plain, "plain", false, "nova: sessions and history off")
	fs.BoolVar(&o.TLS, "tls", false, "nova: over TLS")
	fs.BoolVar(&o.Raw, "raw", false, "nova: inbound frames are not decoded")
	fs.BoolVar(&o.Text, "text", false, "nova: JSON as payload")
	fs.IntVar(&o.Deflate, "deflate", 0, "nova: level of compression")
	profile := fs.String("profile", "", "write a CPU profile to this file")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() != 1 {
		return errors.New("serve takes the name of one server")
	}
	if *profile != "" {
		stop, err := startProfile(*profile)
		if err != nil {
			return err
		}
		defer stop()
	}
	return servers.Run(fs.Arg(0), o)
}

// generate is one load client.
func generate(args []string) error {
	if len(args) != 1 {
		return errors.New("load takes one specification in JSON")
	}
	var s load.Spec
	if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
		return err
	}
	r, err := load.Run(s)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}
