package server

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// A bucket never gives more than its burst and what the time that went by brings,
// whatever the clock does; and once it runs again there is one soon.
func TestTokensKeepTheRate(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		q := newQuota(math.Pow(10, 6*random.Float64()-3), random.IntN(50))
		var b tokens
		now := random.Int64N(1 << 50)
		b.fill(q, now)
		granted, forward := 0, int64(0)
		for range 500 {
			d := int64(random.ExpFloat64() / q.perNano)
			if random.IntN(10) == 0 {
				now -= random.Int64N(1 << 40)
				if random.IntN(2) == 0 {
					now -= staleTime
				}
			} else {
				now += d
				forward += d
			}
			if b.take(q, now) {
				granted++
			}
			if most := q.burst + float64(forward)*q.perNano; float64(granted) > most+1e-6 {
				t.Fatalf("seed %d: %d granted by %+v, at most %g", seed, granted, q, most)
			}
		}
		if now += staleTime + int64(1.001/q.perNano); !b.take(q, now) {
			t.Fatalf("seed %d: nothing after the time of one token, %+v", seed, q)
		}
	}
}

// Promised tokens come at the rate, one after the other.
func TestTokensPromised(t *testing.T) {
	q := newQuota(10, 2)
	var b tokens
	b.fill(q, 0)
	b.take(q, 0)
	b.take(q, 0)
	for n := 1; n <= 5; n++ {
		if b.take(q, 0) {
			t.Fatal("granted before what was promised")
		}
		if wait := b.promise(q); wait.Round(time.Microsecond) != time.Duration(n)*100*time.Millisecond {
			t.Errorf("promise %d waits %v", n, wait)
		}
	}
}

// The table forgets a bucket when nobody uses it and it is full, not before; and of
// too many the ones that were left first.
func TestTableForgets(t *testing.T) {
	var shares table[string]
	shares.quota = newQuota(1, 10)
	spent := func(name string, n int) {
		s := shares.use(name, 0)
		for range n {
			s.take(shares.quota, 0)
		}
		shares.drop(name)
	}
	names := func(want ...string) {
		t.Helper()
		if len(shares.shared) != len(want) {
			t.Errorf("%d buckets, want %v", len(shares.shared), want)
		}
		for _, name := range want {
			if shares.shared[name] == nil {
				t.Errorf("%s is forgotten, want %v", name, want)
			}
		}
	}
	for i := range 5 {
		spent(fmt.Sprint(i), 2*i)
	}
	used := shares.use("1", 0)
	shares.sweep(0, maxUnused)
	names("1", "2", "3", "4")
	shares.sweep(int64(5*time.Second), maxUnused)
	names("1", "3", "4")
	shares.sweep(int64(5*time.Second), 1)
	names("1", "4")
	shares.drop("1")
	if again := shares.use("1", 0); again != used {
		t.Error("another bucket")
	}
	shares.drop("1")
	shares.sweep(int64(time.Minute), maxUnused)
	names()
	if len(shares.unused) != 0 {
		t.Errorf("%v left", shares.unused)
	}
}

func TestNetworkOfAddress(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7":                "192.0.2.7",
		"::ffff:192.0.2.7":         "192.0.2.7",
		"2001:db8:1:2:3:4:5:6":     "2001:db8:1:2::",
		"fe80::1:2:3:4%eth0":       "fe80::",
		"2001:db8:1:3::":           "2001:db8:1:3::",
		"2001:db8:ffff:ffff::ffff": "2001:db8:ffff:ffff::",
	} {
		if got := network(text); got.String() != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
	if network("@").IsValid() {
		t.Error("a Unix socket has an address")
	}
}

// A connection gets at least what its bucket has at each moment, and never more than
// one with the few tokens more that spare leaves would have; the judge looks at the clock for
// each frame.
func TestRateLimitIsExactEnough(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, burst := range []int{1, 2, 31, 32, 63, 64, 100, 1000} {
		l := newLimits(RateLimit{MessagesPerSecond: 1e9 / 1024, Burst: burst, Policy: LimitDrop})
		var now int64
		l.clock = func() int64 { return now }
		c := &conn{server: &Server{limits: l}}
		c.phase.Store(admitted)
		extra := min(burst/32, 3)
		exact, roomy := tokens{left: float64(burst)}, tokens{left: float64(burst + extra)}
		larger := l.own.with(float64(burst + extra))
		got, due, calm := 0, 0, false
		for range 20_000 {
			if random.IntN(burst) == 0 {
				calm = !calm // there are more tokens than frames, or none is left
			}
			if calm {
				now += random.Int64N(16 << 10)
			}
			c.late()
			for range 1 + random.IntN(3) {
				over, err := c.limit(l, 1)
				if err != nil {
					t.Fatal(err)
				}
				if exact.take(l.own, now) {
					due++
				}
				if !over {
					got++
				}
				if !over && !roomy.take(larger, now) {
					t.Fatalf("burst %d: more than %d tokens in excess", burst, extra)
				}
			}
			if got < due {
				t.Fatalf("burst %d: %d frames passed, the exact bucket lets %d", burst, got, due)
			}
		}
	}
}

// BenchmarkRateLimit is what the limits cost a frame, 100 frames a read.
func BenchmarkRateLimit(b *testing.B) {
	const endless = 1e12
	for _, c := range []struct {
		name  string
		limit RateLimit
		reads int // frames in one
	}{
		{"connection", RateLimit{MessagesPerSecond: endless}, 100},
		{"connection, a frame a read", RateLimit{MessagesPerSecond: endless}, 1},
		{"and address", RateLimit{MessagesPerSecond: endless, PerIP: endless}, 100},
		{"and address, a frame a read", RateLimit{MessagesPerSecond: endless, PerIP: endless}, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			own, other := net.Pipe()
			defer other.Close()
			conn := &conn{server: &Server{limits: newLimits(c.limit)}, net: addressed{own}}
			conn.phase.Store(admitted)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if n%c.reads == 0 {
					conn.late()
				}
				if over, err := conn.limit(conn.server.limits, 1); over || err != nil {
					b.Fatal(over, err)
				}
			}
		})
	}
}

// addressed is a connection of some address.
type addressed struct{ net.Conn }

func (addressed) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }
