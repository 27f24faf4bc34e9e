package server

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// proxies are the addresses whose word about their clients is believed.
type proxies struct {
	nets []netip.Prefix
	unix bool // whoever connects over a Unix socket
}

// parseProxies reads Options.TrustedProxies.
func parseProxies(list []string) (p proxies, err error) {
	for _, text := range list {
		if text == "unix" {
			p.unix = true
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			addr, failed := netip.ParseAddr(text)
			if failed != nil || addr.Zone() != "" {
				return p, fmt.Errorf("server: Options.TrustedProxies has %q; write an address, a network such as 10.0.0.0/8, or unix", text)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
		}
		p.nets = append(p.nets, prefix.Masked())
	}
	return p, nil
}

func (p *proxies) trusts(addr netip.Addr) bool {
	if !addr.IsValid() {
		return p.unix
	}
	for _, n := range p.nets {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}

// parseHost returns the address in host:port, the zero value when there is none.
func parseHost(text string) netip.Addr {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr().Unmap().WithZone("")
	}
	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}

// client returns the address a request comes from: that of the socket or, as long as
// it belongs to a trusted proxy, the one which that proxy has seen, from the right of
// the list to the left. What no trusted proxy wrote is not looked at. When a
// request carries both headers and they disagree, its sender may have written one of
// them: then the proxy's own address counts.
func (p *proxies) client(r *http.Request) netip.Addr {
	peer := parseHost(r.RemoteAddr)
	if len(p.nets) == 0 && !p.unix || !p.trusts(peer) {
		return peer
	}
	standard, usual := forwarded(r.Header), forwardedFor(r.Header)
	switch {
	case standard == nil:
		return p.walk(peer, usual)
	case usual == nil:
		return p.walk(peer, standard)
	}
	if addr := p.walk(peer, standard); addr == p.walk(peer, usual) {
		return addr
	}
	return peer
}

// walk goes along a list of hops, the newest last, until one is not trusted or says
// nothing that can be used.
func (p *proxies) walk(peer netip.Addr, hops []string) netip.Addr {
	at := peer
	for i := len(hops) - 1; i >= 0 && p.trusts(at); i-- {
		next := parseHost(hops[i])
		if !next.IsValid() {
			break
		}
		at = next
	}
	return at
}

func forwardedFor(h http.Header) []string {
	var hops []string
	for _, line := range h.Values("X-Forwarded-For") {
		for hop := range strings.SplitSeq(line, ",") {
			hops = append(hops, strings.TrimSpace(hop))
		}
	}
	return hops
}

// forwarded reads the header of RFC 7239. A hop that tells no address is an empty
// string.
func forwarded(h http.Header) []string {
	var hops []string
	for _, line := range h.Values("Forwarded") {
		for element := range strings.SplitSeq(line, ",") {
			hop := ""
			for pair := range strings.SplitSeq(element, ";") {
				name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
				if strings.EqualFold(name, "for") {
					hop = strings.Trim(value, `"`)
				}
			}
			hops = append(hops, hop)
		}
	}
	return hops
}

// counted is the address that limits count: of IPv6 the network of 64 bits, since
// that is what one subscriber has at least.
func counted(addr netip.Addr) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	prefix, err := addr.Prefix(64)
	if err != nil {
		return addr
	}
	return prefix.Addr()
}
