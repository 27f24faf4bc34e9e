package filelog_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova/topiclog"
	"github.com/ignex/nova/topiclog/filelog"
)

var (
	seeds     = flag.Uint64("seeds", 200, "number of seeds of TestCrashes")
	firstSeed = flag.Uint64("seed", 0, "first seed of TestCrashes")
)

// crashRun drives one log over many lives of a simulated machine and keeps the
// truth beside it: a slow obvious model.
type crashRun struct {
	*testing.T
	seed   uint64
	r      *rand.Rand
	fs     *simFS
	policy filelog.SyncPolicy
	log    *filelog.Log

	frames map[key]string // every frame ever seen under (topic, epoch, offset)
	heads  map[key]uint64 // highest head of (topic, epoch)
	acked  map[key]bool   // appended in this or an earlier life
	safe   map[key]bool   // … and promised to survive a power loss
	epochs map[string]string
	next   int
}

type key struct {
	topic, epoch string
	offset       uint64
}

// TestCrashes: whatever dies and whenever, no (epoch, offset) names two frames,
// heads never fall, and what was acknowledged is there or declared lost.
func TestCrashes(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		synctest.Test(t, func(t *testing.T) {
			c := &crashRun{
				T: t, seed: seed, r: rand.New(rand.NewPCG(seed, 1)), fs: newSim(), policy: filelog.SyncPolicy(seed % 3),
				frames: map[key]string{}, heads: map[key]uint64{}, acked: map[key]bool{}, safe: map[key]bool{}, epochs: map[string]string{},
			}
			defer func() {
				if t.Failed() && c.log != nil {
					_ = c.log.Close() // the failure is what matters; let its goroutines end
				}
			}()
			for range 12 {
				c.life()
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func (c *crashRun) open() {
	var err error
	o := filelog.Options{Sync: c.policy, SegmentBytes: 1500, MaxBytes: 1 << 20, RetryWindow: 50}
	if c.log, err = filelog.Open(c.Context(), "d", filelog.WithFS(o, c.fs.process(), 8)); err != nil {
		c.Fatalf("seed %d: %v", c.seed, err)
	}
}

// life opens the log, looks, works, and ends it one way or another.
func (c *crashRun) life() {
	c.open()
	c.look()
	for range c.r.IntN(40) {
		c.step()
	}
	c.fs.set(-1, false, false)
	c.look()
	switch c.r.IntN(4) {
	case 0:
		if err := c.log.Close(); err != nil {
			c.Errorf("seed %d: close: %v", c.seed, err)
		}
		for k := range c.acked {
			c.safe[k] = true
		}
		return
	case 1:
		c.fs.kill()
	case 2:
		c.fs.powerLoss(c.r, 0)
		c.forgetUnsafe()
	case 3:
		c.fs.powerLoss(c.r, c.r.Float64())
		c.forgetUnsafe()
	}
	if err := c.log.Close(); err == nil { // ends its goroutines; its files are gone
		c.Errorf("seed %d: closing a dead log gave no error", c.seed)
	}
}

// forgetUnsafe: these may be gone now, if lost says so.
func (c *crashRun) forgetUnsafe() {
	for k := range c.acked {
		if !c.safe[k] {
			delete(c.acked, k)
		}
	}
}

func (c *crashRun) step() {
	switch n := c.r.IntN(20); {
	case n < 12:
		c.append(1 + c.r.IntN(3))
	case n < 14:
		c.append(1 + c.r.IntN(20))
	case n == 14:
		before := make([]key, 0, len(c.acked))
		for k := range c.acked {
			before = append(before, k)
		}
		if c.log.Sync(c.Context()) == nil {
			for _, k := range before {
				c.safe[k] = true
			}
		}
	case n == 15:
		time.Sleep(time.Duration(c.r.IntN(int(2 * time.Second))))
		synctest.Wait()
	case n == 16:
		c.fs.set(int64(c.r.IntN(200)), false, c.r.IntN(3) == 0)
	case n == 17:
		c.fs.set(-1, true, c.r.IntN(3) == 0)
	default:
		c.fs.set(-1, false, false)
	}
}

func (c *crashRun) append(n int) {
	entries := make([]topiclog.Entry, n)
	for i := range entries {
		c.next++
		entries[i] = topiclog.Entry{
			Topic: fmt.Sprint("t", c.r.IntN(3)), ID: fmt.Sprint("id", c.next),
			Frame: fmt.Appendf(nil, "frame %d %0*d", c.next, c.r.IntN(100), 0),
		}
	}
	if c.log.AppendAll(c.Context(), entries) != nil {
		if c.r.IntN(2) == 0 || c.log.AppendAll(c.Context(), entries) != nil { // a retry with the same ids
			return
		}
	}
	for _, e := range entries {
		k := key{e.Topic, e.Epoch, e.Offset}
		c.saw(k, string(e.Frame))
		c.acked[k] = true
		if c.policy == filelog.SyncAlways {
			c.safe[k] = true
		}
	}
}

// saw holds a frame against what was seen under its name before.
func (c *crashRun) saw(k key, frame string) {
	if old, ok := c.frames[k]; ok && old != frame {
		c.Fatalf("seed %d: %v was %q and is %q", c.seed, k, old, frame)
	}
	c.frames[k] = frame
}

// look reads all topics and holds them against the truth.
func (c *crashRun) look() {
	for i := range 3 {
		name := fmt.Sprint("t", i)
		epoch, lost, head, err := c.log.Head(c.Context(), name)
		if err != nil || lost > head {
			c.Fatalf("seed %d: head of %s: lost %d, head %d, %v", c.seed, name, lost, head, err)
		}
		hk := key{topic: name, epoch: epoch}
		if head < c.heads[hk] {
			c.Fatalf("seed %d: head of %v fell from %d to %d", c.seed, hk, c.heads[hk], head)
		}
		c.heads[hk] = head
		there, ids := map[uint64]bool{}, map[string]bool{}
		for after := uint64(0); epoch != ""; {
			entries, _, err := c.log.Range(c.Context(), name, epoch, after, 7)
			if err != nil {
				c.Fatalf("seed %d: range of %v: %v", c.seed, hk, err)
			}
			if len(entries) == 0 {
				break
			}
			for _, e := range entries {
				if e.Offset <= after || e.Offset > head || ids[e.ID] {
					c.Fatalf("seed %d: %v after %d, head %d, id %q", c.seed, e.Offset, after, head, e.ID)
				}
				after = e.Offset
				there[e.Offset], ids[e.ID] = true, true
				c.saw(key{name, epoch, e.Offset}, string(e.Frame))
			}
		}
		for k := range c.frames { // a frame once seen is there, or declared lost
			if k.topic == name && k.epoch == epoch && !there[k.offset] && (c.acked[k] || k.offset > lost) {
				c.Fatalf("seed %d: %v is missing; lost %d, acknowledged %v", c.seed, k, lost, c.acked[k])
			}
		}
		for k := range c.acked {
			if k.topic == name && k.epoch != epoch {
				c.Fatalf("seed %d: %v was acknowledged; the epoch is now %q", c.seed, k, epoch)
			}
		}
	}
}

// TestTornTail cuts the log at every byte of its last records, and spoils it at
// every byte: the whole records before stay, and the log goes on.
func TestTornTail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim()
		log := openSim(t, sim, filelog.Options{})
		var size []int64 // of the file after each append
		for n := range 8 {
			if _, err := log.Append(t.Context(), fmt.Sprint("t", n%2), fmt.Sprint(n), fmt.Appendf(nil, "frame %d", n)); err != nil {
				t.Fatal(err)
			}
			size = append(size, log.Stats().Bytes)
		}
		sim.kill()
		if err := log.Close(); !errors.Is(err, errDead) {
			t.Fatal(err)
		}
		name := sim.segments()[0]
		whole, state := sim.bytes(name), sim.bytes("d/state")
		for cut := size[3]; cut <= int64(len(whole)); cut++ {
			tornAt(t, name, state, whole[:cut], kept(size, cut), false)
		}
		for at := size[3]; at < int64(len(whole)); at++ {
			spoiled := append([]byte(nil), whole...)
			spoiled[at] ^= 0x55
			tornAt(t, name, state, spoiled, kept(size, at), true)
		}
	})
}

// kept returns how many appends ended within n bytes.
func kept(size []int64, n int64) (count int) {
	for _, s := range size {
		if s <= n {
			count++
		}
	}
	return count
}

func tornAt(t *testing.T, name string, state, segment []byte, want int, spoiled bool) {
	t.Helper()
	sim := newSim()
	sim.put(name, segment)
	sim.put("d/state", state)
	for life := range 2 { // the second one ends cleanly and starts from what the first left
		log := openSim(t, sim, filelog.Options{})
		got := 0
		for _, topic := range []string{"t0", "t1"} {
			epoch, lost, head, err := log.Head(t.Context(), topic)
			if err != nil || head != 65_536 || lost != 0 && !spoiled {
				t.Fatalf("%d bytes: %s lost %d, head %d, %v", len(segment), topic, lost, head, err)
			}
			entries, _, err := log.Range(t.Context(), topic, epoch, 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			got += len(entries)
		}
		if got != want {
			t.Fatalf("%d bytes, life %d: %d entries, want %d", len(segment), life, got, want)
		}
		if life == 0 {
			sim.kill()
			_ = log.Close() // dead
			continue
		}
		if offset, err := log.Append(t.Context(), "t0", "", nil); err != nil || offset != 65_537 {
			t.Fatalf("%d bytes: offset %d, %v", len(segment), offset, err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func openSim(t *testing.T, sim *simFS, o filelog.Options) *filelog.Log {
	t.Helper()
	log, err := filelog.Open(context.Background(), "d", filelog.WithFS(o, sim.process(), 0))
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// An Open that comes to nothing behind the point where it cut damage off does not hide the
// damage from the next: what is missing is still declared.
func TestDamageOutlivesAFailedOpen(t *testing.T) {
	for _, c := range []struct {
		name    string
		clean   bool // the log was closed
		segment int  // that is spoiled, from the end
	}{{"dropped", true, 3}, {"dropped after a kill", false, 3}, {"the end, after a kill", false, 1}} {
		t.Run(c.name, func(t *testing.T) {
			sim := newSim()
			o := filelog.Options{SegmentBytes: 1000, MaxBytes: 1 << 20, DropDamaged: true}
			log := openSim(t, sim, o)
			fill(t, log, 200)
			before, _ := read(t, log, "t0")
			if c.clean {
				shut(t, log)
			} else {
				sim.kill()
				_ = log.Close() // dead
			}
			names := sim.segments()
			name := names[len(names)-c.segment]
			data := sim.bytes(name)
			data[bytes.Index(data, []byte("frame "))]++
			sim.put(name, data)
			for space := int64(0); ; space += 100 { // a full disk, with more and more room
				sim.set(space, false, false)
				failed, err := filelog.Open(t.Context(), "d", filelog.WithFS(o, sim.process(), 0))
				if err != nil {
					continue
				}
				_ = failed.Close()
				break
			}
			sim.set(-1, false, false)
			log = openSim(t, sim, o)
			after, lost := read(t, log, "t0")
			if _, _, head, err := log.Head(t.Context(), "t0"); err != nil || lost == 0 || len(after) >= len(before) {
				t.Errorf("%d frames, were %d; lost %d, head %d, %v", len(after), len(before), lost, head, err)
			}
			shut(t, log)
		})
	}
}

// A tail that holds appends up holds no fsync up: what was acknowledged is safe after
// SyncEvery all the same.
func TestSlowTailHoldsNoSyncUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim()
		log := openSim(t, sim, filelog.Options{})
		stuck, ended := make(chan struct{}), make(chan error, 1)
		go func() { ended <- log.Tail(context.Background(), func(topiclog.Entry) { <-stuck }) }()
		synctest.Wait()
		acked := make(chan int, 1)
		go func() {
			n := 0
			for ctx, cancel := context.WithTimeout(t.Context(), time.Second); ; n++ {
				if _, err := log.Append(ctx, "t", "", []byte("frame")); err != nil {
					cancel()
					break
				}
			}
			acked <- n
		}()
		want := <-acked
		time.Sleep(time.Second)
		sim.powerLoss(nil, 0)
		close(stuck)
		_ = log.Close() // dead
		<-ended
		log = openSim(t, sim, filelog.Options{})
		if got, _ := read(t, log, "t"); len(got) < want {
			t.Errorf("%d frames of %d that were acknowledged", len(got), want)
		}
		shut(t, log)
	})
}
