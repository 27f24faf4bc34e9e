package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// listen opens the address of --addr; its errors say what to write instead.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, usagef("--addr %q is no address; write host:port or :port, such as :3000", addr)
	}
	if n, err := strconv.Atoi(port); err == nil && (n < 0 || n > 65535) {
		return nil, usagef("--addr %q has no port of TCP; write one up to 65535, such as %s:3000", addr, host)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return listener, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("address %s is in use; stop what listens there, or choose another with --addr %s:3001", addr, host)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("port %s needs more rights; choose one above 1023 with --addr %s:3000", port, host)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return nil, fmt.Errorf("cannot listen on %s (%w); check --addr", addr, err)
}
