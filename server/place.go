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
	extra   int // beyond the limits, for a moment
	ips     map[netip.Addr]int
	lateIPs map[netip.Addr]int
	asking  map[netip.Addr]int // of extra, those that have yet to say what for
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

// take takes the place of an upgrade; nil = there is one. asks: the client may turn out
// to come back for a session whose socket still counts. It may enter beyond the limits
// to say so, and has to leave unless seat finds it so.
func (p *places) take(o *Options, e *entry, asks bool) *refusal {
	if o.MaxConnections <= 0 && o.MaxConnectionsPerIP <= 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	no := p.full(o, e)
	switch {
	case no == nil:
		p.occupy(o, e)
	case asks && p.extra < o.extraPlaces() && p.asking[counted(e.address)] < maxAskingPerIP:
		e.asks = no
		p.extra++
		add(&p.asking, counted(e.address), 1)
		return nil
	}
	return no
}

// full is why there is no place, nil when there is one.
func (p *places) full(o *Options, e *entry) *refusal {
	switch {
	case o.MaxConnections > 0 && p.all >= o.MaxConnections:
		return refuseFull
	case o.MaxConnectionsPerIP > 0 && p.ips[counted(e.address)] >= o.MaxConnectionsPerIP:
		return refuseFullIP
	}
	return nil
}

func (p *places) occupy(o *Options, e *entry) {
	e.place = true
	p.all++
	if o.MaxConnectionsPerIP > 0 {
		add(&p.ips, counted(e.address), 1)
	}
}

func (p *places) vacate(e *entry) {
	e.place = false
	p.all--
	if p.ips != nil {
		add(&p.ips, counted(e.address), -1)
	}
}

// The bounds of what is beyond MaxConnections and MaxConnectionsPerIP: connections that
// have yet to say which session they come back for, and those whose place was taken by
// the one that did, until their socket is closed.
const (
	maxExtra       = 256
	maxAskingPerIP = 8
)

// extraPlaces is maxExtra, and where there is a limit about a quarter of it at most.
func (o *Options) extraPlaces() int {
	if o.MaxConnections <= 0 {
		return maxExtra
	}
	return min(maxExtra, max(2, o.MaxConnections/4))
}

// asked ends the time of a connection beyond the limits.
func (p *places) asked(e *entry) {
	if e.asks != nil {
		e.asks = nil
		p.extra--
		add(&p.asking, counted(e.address), -1)
	}
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

// seat takes the places of a connection that is about to be admitted; nil = it has
// them. over: another one of the user makes room for it, which is old when it is of
// this server. One that entered beyond the limits gets a place that is free by now, or
// that of old, which is then the one beyond: heir is true.
func (p *places) seat(o *Options, e *entry, user string, old *entry, over bool) (heir bool, no *refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	most := o.MaxConnectionsPerUser
	if over {
		most++
	}
	counts := o.MaxConnectionsPerUser > 0 && user != "" && e.user != user
	if counts && p.users[user] >= most {
		p.asked(e) // before it is told, which takes a while
		return false, refuseFullUser
	}
	if e.asks != nil {
		no = p.full(o, e)
		p.asked(e)
		if no == nil {
			p.occupy(o, e)
		} else if heir = old != nil && old.place && p.inherit(o, e, old); !heir {
			return false, no
		}
	}
	if counts {
		p.stand(e)
		e.user = user
		add(&p.users, user, 1)
	}
	return heir, nil
}

// inherit gives e the place of old, which is among the extra ones until it leaves. false:
// that is not the place which e lacks.
func (p *places) inherit(o *Options, e, old *entry) bool {
	p.vacate(old)
	if p.full(o, e) != nil {
		p.occupy(o, old)
		return false
	}
	old.robbed = true
	p.extra++
	p.occupy(o, e)
	return true
}

// giveBack undoes inherit, when old turned out to stay.
func (p *places) giveBack(o *Options, e, old *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.place && old.robbed {
		p.vacate(e)
		p.spare(old)
		p.occupy(o, old)
	}
}

func (p *places) spare(e *entry) {
	if e.robbed {
		e.robbed = false
		p.extra--
	}
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
	p.asked(e)
	p.spare(e)
	if e.place {
		p.vacate(e)
	}
}
