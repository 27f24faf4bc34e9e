package server

import (
	"net/netip"
	"sync"
)

// places counts connections against the limits. A place is taken and given back in
// one step, so that the limits hold exactly however many upgrades come at once; one
// that is refused has given its place back before it is told.
type places struct {
	mu      sync.Mutex
	all     int
	late    int // connected and not authenticated
	ips     map[netip.Addr]int
	lateIPs map[netip.Addr]int
	users   map[string]int
}

func add[K comparable](m *map[K]int, key K, by int) {
	if *m == nil {
		*m = map[K]int{}
	}
	if (*m)[key] += by; (*m)[key] <= 0 {
		delete(*m, key)
	}
}

// take takes the place of an upgrade; nil = there is one.
func (p *places) take(o *Options, e *entry) *refusal {
	if o.MaxConnections <= 0 && o.MaxConnectionsPerIP <= 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case o.MaxConnections > 0 && p.all >= o.MaxConnections:
		return refuseFull
	case o.MaxConnectionsPerIP > 0 && p.ips[counted(e.address)] >= o.MaxConnectionsPerIP:
		return refuseFullIP
	}
	e.place = true
	p.all++
	if o.MaxConnectionsPerIP > 0 {
		add(&p.ips, counted(e.address), 1)
	}
	return nil
}

// takeLate takes the place of a connection that is to authenticate by frame.
func (p *places) takeLate(o *Options, e *entry) *refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.late >= o.MaxUnauthenticated || p.lateIPs[counted(e.address)] >= o.MaxUnauthenticatedPerIP {
		return refuseLate
	}
	e.late = true
	p.late++
	add(&p.lateIPs, counted(e.address), 1)
	return nil
}

// seat takes the place of a user. over: also one beyond the limit, for a connection
// that another one of the user makes room for.
func (p *places) seat(most int, e *entry, user string, over bool) bool {
	if most <= 0 || user == "" {
		return true
	}
	if over {
		most++
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.user == user {
		return true
	}
	if p.users[user] >= most {
		return false
	}
	p.stand(e)
	e.user = user
	add(&p.users, user, 1)
	return true
}

func (p *places) stand(e *entry) {
	if e.user != "" {
		add(&p.users, e.user, -1)
		e.user = ""
	}
}

// stop gives the user's place back: the connection is about to close.
func (p *places) stop(e *entry) {
	if e == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stand(e)
}

// in says that the connection is authenticated.
func (p *places) in(e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.authenticated(e)
}

func (p *places) authenticated(e *entry) {
	if e.late {
		e.late = false
		p.late--
		add(&p.lateIPs, counted(e.address), -1)
	}
}

// leave gives everything back. It may be called again.
func (p *places) leave(e *entry) {
	if e == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stand(e)
	p.authenticated(e)
	if !e.place {
		return
	}
	e.place = false
	p.all--
	if p.ips != nil {
		add(&p.ips, counted(e.address), -1)
	}
}
