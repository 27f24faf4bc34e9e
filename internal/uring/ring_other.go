//go:build !linux

package uring

import "errors"

// Ring does not exist on this system.
type Ring struct{}

// New fails.
func New(int) (*Ring, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Ring) Close() {}

// Size returns 0.
func (*Ring) Size() int { return 0 }

// Send is never reached: there is no ring.
func (*Ring) Send([]Send) {}
