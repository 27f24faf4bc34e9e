package jwtauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/ignex/nova/server"
)

// Options configure an Authenticator. At least one of Secret, PublicKeys, KeySet
// and KeySetURL is needed; all keys given count.
type Options struct {
	// Secret is the shared secret of HS256 (at least 32 bytes), HS384 (48) and
	// HS512 (64), as raw bytes.
	Secret []byte
	// PublicKeys are PEM blocks: PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE, of which
	// only the key counts. They verify tokens whatever key id these name.
	PublicKeys []byte
	// KeySet is a JSON Web Key Set. Keys that are not for signatures are passed over.
	KeySet []byte
	// KeySetURL is where the issuer publishes its key set. It must be https, except
	// on a loopback address. Symmetric keys found there are not used.
	KeySetURL string

	// Algorithms narrows what tokens may be signed with. Default: all that the keys
	// can do.
	Algorithms []string
	// Issuer is what iss must be. Default: not checked.
	Issuer string
	// Audience lists the names of this server: aud must hold one of them. Default:
	// not checked.
	Audience []string
	// Type is what the header's typ must be, e.g. "at+jwt", so that tokens made for
	// another purpose are refused. Letter case does not count. Default: not checked.
	Type string
	// RequireExpiry refuses tokens without exp. Default false: they never expire.
	RequireExpiry bool
	// Leeway is how far the clocks of issuer and server may differ. Default 30 s,
	// negative = none.
	Leeway time.Duration
	// MaxTokenSize bounds a token, in bytes. Default 8 KiB.
	MaxTokenSize int

	// The claims that an identity is made of: the name of a claim, or with a leading
	// slash a JSON pointer (RFC 6901) such as /realm_access/roles.
	UserClaim   string // a string or a whole number; must be there unless Map sets the user. Default "sub"
	ClientClaim string // a string or a whole number, pins the client id; default none
	GroupsClaim string // strings, or one string with spaces between names; default none
	TopicsClaim string // likewise; default none
	// Map completes or changes the identity made from the claims. An error denies the
	// token; its text is logged. It may run concurrently. Default none.
	Map func(ctx context.Context, claims Claims, id *server.Identity) error

	RefreshInterval    time.Duration // between readings of KeySetURL; default 15 min
	UnknownKeyInterval time.Duration // between readings that unknown keys cause; default 10 s
	FetchTimeout       time.Duration // of one reading; default 5 s
	// HTTPClient reads KeySetURL. Default: one of its own, with the proxy settings of
	// the environment.
	HTTPClient *http.Client
	// AllowHTTP permits a KeySetURL without TLS. Whoever can change the answer on its
	// way can then make tokens. Default false.
	AllowHTTP bool

	Now    func() time.Time // the clock that exp and nbf are compared with; default time.Now
	Logger *slog.Logger     // of readings that fail and keys that are not used; default silent
}

func (o *Options) setDefaults() error {
	for _, d := range []struct {
		p    *time.Duration
		def  time.Duration
		name string
	}{
		{&o.RefreshInterval, 15 * time.Minute, "RefreshInterval"},
		{&o.UnknownKeyInterval, 10 * time.Second, "UnknownKeyInterval"},
		{&o.FetchTimeout, 5 * time.Second, "FetchTimeout"},
	} {
		if *d.p == 0 {
			*d.p = d.def
		}
		if *d.p < 0 {
			return fmt.Errorf("jwtauth: Options.%s is %v; it must be positive", d.name, *d.p)
		}
	}
	switch {
	case o.Leeway == 0:
		o.Leeway = 30 * time.Second
	case o.Leeway < 0:
		o.Leeway = 0
	}
	if o.MaxTokenSize == 0 {
		o.MaxTokenSize = 8 << 10
	}
	if o.MaxTokenSize < 0 {
		return fmt.Errorf("jwtauth: Options.MaxTokenSize is %d; it must be positive", o.MaxTokenSize)
	}
	if o.UserClaim == "" {
		o.UserClaim = "sub"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o.check()
}

func (o *Options) check() error {
	if len(o.Secret) == 0 && len(o.PublicKeys) == 0 && len(o.KeySet) == 0 && o.KeySetURL == "" {
		return errors.New("jwtauth: no keys; set Options.Secret, PublicKeys, KeySet or KeySetURL")
	}
	for _, name := range o.Algorithms {
		if !slices.Contains(supported, name) {
			return fmt.Errorf("jwtauth: Options.Algorithms names %q; known are %v", name, supported)
		}
	}
	if slices.Contains(o.Audience, "") {
		return errors.New("jwtauth: Options.Audience holds an empty name")
	}
	if o.KeySetURL == "" {
		return nil
	}
	u, err := url.Parse(o.KeySetURL)
	if err != nil || u.Host == "" {
		return errors.New("jwtauth: Options.KeySetURL is not an absolute URL")
	}
	if !o.mayRead(u) {
		return errors.New("jwtauth: Options.KeySetURL must be https; AllowHTTP permits http")
	}
	return nil
}

// mayRead says whether keys that come from u are to be trusted.
func (o *Options) mayRead(u *url.URL) bool {
	switch u.Scheme {
	case "https":
		return true
	case "http":
		ip := net.ParseIP(u.Hostname())
		return o.AllowHTTP || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	}
	return false
}
