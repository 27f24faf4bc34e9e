package server

import (
	"errors"
	"fmt"
	"time"
)

// enterDefaults fills in the options about who may enter, and checks them.
func (o *Options) enterDefaults() (err error) {
	for _, n := range []struct {
		p    *int
		def  int
		name string
	}{
		{&o.MaxConnectionsPerIP, 0, "MaxConnectionsPerIP"},
		{&o.MaxConnectionsPerUser, 0, "MaxConnectionsPerUser"},
		{&o.MaxUnauthenticated, 1000, "MaxUnauthenticated"},
		{&o.MaxUnauthenticatedPerIP, 10, "MaxUnauthenticatedPerIP"},
	} {
		if *n.p == 0 {
			*n.p = n.def
		}
		if *n.p < 0 {
			return fmt.Errorf("server: Options.%s is %d; it must not be negative", n.name, *n.p)
		}
	}
	switch {
	case o.LateAuth < 0:
		return fmt.Errorf("server: Options.LateAuth is %v; it must not be negative", o.LateAuth)
	case o.LateAuth > 0 && !o.authenticates():
		return errors.New("server: Options.LateAuth needs Authenticate, Token or CheckToken")
	case o.ExpiryGrace == 0:
		o.ExpiryGrace = 15 * time.Second
	}
	o.ExpiryGrace = max(o.ExpiryGrace, 0)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.proxies, err = parseProxies(o.TrustedProxies)
	return err
}
