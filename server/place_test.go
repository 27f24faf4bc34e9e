package server

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

// Whatever happens in whatever order: the counters are what the entries hold, and
// nothing goes beyond its bound.
func TestPlacesAreCounted(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for _, o := range []*Options{{MaxConnections: 12}, {MaxConnectionsPerIP: 3}, {MaxConnections: 12, MaxConnectionsPerIP: 3, MaxConnectionsPerUser: 5}} {
		var p places
		type pair struct{ heir, old *entry }
		var all []*entry
		var heirs []pair
		drop := func(e *entry) {
			p.leave(e)
			for i, x := range all {
				if x == e {
					all = append(all[:i], all[i+1:]...)
					break
				}
			}
		}
		counts := map[string]int{}
		for range 20_000 {
			switch kind := rnd.IntN(5); {
			case kind == 0 || len(all) == 0:
				e := &entry{address: netip.AddrFrom4([4]byte{10, 0, 0, byte(rnd.IntN(8))})}
				if p.take(o, e, rnd.IntN(2) == 0) == nil {
					all = append(all, e)
				}
			case kind == 1:
				drop(all[rnd.IntN(len(all))])
			case kind == 2 && len(heirs) > 0:
				x := heirs[len(heirs)-1]
				heirs = heirs[:len(heirs)-1]
				if rnd.IntN(2) == 0 {
					p.giveBack(o, x.heir, x.old)
					drop(x.heir)
					counts["given back"]++
				} else {
					drop(x.old)
				}
			default:
				e := all[rnd.IntN(len(all))]
				var old *entry
				if rnd.IntN(3) > 0 {
					if old = all[rnd.IntN(len(all))]; old == e || old.asks != nil {
						old = nil
					}
				}
				heir, no := p.seat(o, e, []string{"", "ann", "bob"}[rnd.IntN(3)], old, old != nil)
				switch {
				case no != nil:
					drop(e)
					counts["refused"]++
				case heir:
					heirs = append(heirs, pair{e, old})
					counts["heir"]++
				}
			}
			check(t, &p, o, all)
		}
		if counts["heir"] == 0 || counts["refused"] == 0 || counts["given back"] == 0 {
			t.Errorf("%+v: %v", o, counts)
		}
		for len(all) > 0 {
			drop(all[0])
		}
		if p.all != 0 || p.extra != 0 || len(p.ips)+len(p.asking)+len(p.users) != 0 {
			t.Fatalf("something is left: %+v", &p)
		}
	}
}

// check counts again what there is.
func check(t *testing.T, p *places, o *Options, all []*entry) {
	t.Helper()
	var held, extra int
	ips, asking, users := map[netip.Addr]int{}, map[netip.Addr]int{}, map[string]int{}
	for _, e := range all {
		if e.place {
			held++
			ips[e.address]++
		}
		if e.robbed || e.asks != nil {
			extra++
		}
		if e.asks != nil {
			asking[e.address]++
		}
		if e.user != "" {
			users[e.user]++
		}
		if e.place == (e.robbed || e.asks != nil) {
			t.Fatalf("%+v", e)
		}
	}
	if p.all != held || p.extra != extra || extra > o.extraPlaces() || o.MaxConnections > 0 && held > o.MaxConnections {
		t.Fatalf("%d places and %d extra ones, counted as %d and %d", held, extra, p.all, p.extra)
	}
	for ip, n := range ips {
		if most := o.MaxConnectionsPerIP; most > 0 && (n > most || p.ips[ip] != n) {
			t.Fatalf("%v has %d, counted as %d", ip, n, p.ips[ip])
		}
		if asking[ip] > maxAskingPerIP || asking[ip] != p.asking[ip] {
			t.Fatalf("%v asks for %d, counted as %d", ip, asking[ip], p.asking[ip])
		}
	}
	for user, n := range users {
		if n > o.MaxConnectionsPerUser+1 || n != p.users[user] {
			t.Fatalf("%s has %d, counted as %d", user, n, p.users[user])
		}
	}
}
