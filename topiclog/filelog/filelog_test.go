package filelog_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ignex/nova/internal/leak"
	"github.com/ignex/nova/topiclog"
	"github.com/ignex/nova/topiclog/filelog"
	"github.com/ignex/nova/topiclog/logtest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		child(dir)
	}
	leak.Main(m)
}

func open(t *testing.T, dir string, o filelog.Options) *filelog.Log {
	t.Helper()
	log, err := filelog.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func shut(t *testing.T, log topiclog.Log) {
	t.Helper()
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// With SyncAlways the disk is a simulated one: thousands of fsyncs take their time.
func TestSuite(t *testing.T) {
	for policy := filelog.SyncInterval; policy <= filelog.SyncNever; policy++ {
		t.Run(policy.String(), func(t *testing.T) {
			var dir string
			var o filelog.Options
			logtest.Run(t, logtest.Backend{
				Batches: true, Syncs: true,
				Open: func(t *testing.T, maxFrames int) topiclog.Log {
					dir = t.TempDir()
					o = filelog.Options{Sync: policy, MaxFrames: maxFrames}
					if policy == filelog.SyncAlways {
						o = filelog.WithFS(o, newSim().process(), 0)
					}
					return open(t, dir, o)
				},
				Reopen: func(t *testing.T, log topiclog.Log) topiclog.Log {
					shut(t, log)
					return open(t, dir, o)
				},
			})
		})
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []filelog.Options{{Sync: 7}, {Sync: -1}, {SegmentBytes: 2 << 30}, {MaxBytes: 1000, SegmentBytes: 600}, {SegmentBytes: -5}} {
		if _, err := filelog.Open(t.Context(), t.TempDir(), o); err == nil || !strings.Contains(err.Error(), "Options.") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := filelog.Open(t.Context(), "", filelog.Options{}); err == nil {
		t.Error("a directory without a name")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	log := open(t, dir, filelog.Options{})
	long := strings.Repeat("x", 70_000)
	if _, err := log.Append(t.Context(), long, "", nil); err == nil {
		t.Error("a long topic")
	}
	if _, err := log.Append(t.Context(), "t", long, nil); err == nil {
		t.Error("a long id")
	}
	shut(t, log)
	if _, err := filelog.Open(ctx, dir, filelog.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	shut(t, open(t, dir, filelog.Options{})) // the failed Open let go of the lock
}

func TestDirectoryErrors(t *testing.T) {
	dir := t.TempDir()
	log := open(t, dir, filelog.Options{})
	if _, err := filelog.Open(t.Context(), dir, filelog.Options{}); !errors.Is(err, filelog.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("opened twice: %v", err)
	}
	shut(t, log)
	inFile := filepath.Join(dir, "state", "sub")
	if _, err := filelog.Open(t.Context(), inFile, filelog.Options{}); !errors.Is(err, syscall.ENOTDIR) || !strings.Contains(err.Error(), inFile) {
		t.Errorf("below a file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "state"), []byte(`{"version":9,"clean":true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := filelog.Open(t.Context(), dir, filelog.Options{}); !errors.Is(err, filelog.ErrVersion) || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("another version: %v", err)
	}
}

// fill appends n frames of topic t until there are several segments.
func fill(t *testing.T, log *filelog.Log, n int) {
	t.Helper()
	for i := range n {
		if _, err := log.Append(t.Context(), fmt.Sprint("t", i%2), "", fmt.Appendf(nil, "frame %d", i)); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, log *filelog.Log, topic string) (frames []string, lost uint64) {
	t.Helper()
	epoch, lost, _, err := log.Head(t.Context(), topic)
	for after := uint64(0); err == nil; {
		var page []topiclog.Entry
		if page, lost, err = log.Range(t.Context(), topic, epoch, after, 100); err != nil || len(page) == 0 {
			break
		}
		for _, e := range page {
			frames = append(frames, string(e.Frame))
			after = e.Offset
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return frames, lost
}

// Damage before the end of the log is an error that names file and byte, unless
// it is to be dropped; then lost says what is missing, also later.
func TestDamage(t *testing.T) {
	for _, kind := range []string{"frame", "state", "header", "missing"} {
		t.Run(kind, func(t *testing.T) {
			sim := newSim()
			small := filelog.Options{SegmentBytes: 1000, MaxBytes: 1 << 20}
			log := openSim(t, sim, small)
			fill(t, log, 200)
			before, _ := read(t, log, "t0")
			shut(t, log)
			name := sim.segments()[2]
			data, at := sim.bytes(name), 700
			switch kind {
			case "header":
				at = 3
			case "state":
				at = filelog.HeaderSize + 12
			}
			data[at]++
			sim.put(name, data)
			if kind == "missing" {
				if err := sim.process().Remove(name); err != nil {
					t.Fatal(err)
				}
			}
			var damage *filelog.DamageError
			_, err := filelog.Open(t.Context(), "d", filelog.WithFS(small, sim.process(), 0))
			if !errors.As(err, &damage) || damage.File != name || damage.Offset > int64(at) || !strings.Contains(err.Error(), "DropDamaged") {
				t.Fatalf("%v", err)
			}
			dropping := small
			dropping.DropDamaged = true
			for _, o := range []filelog.Options{dropping, small, small} {
				log = openSim(t, sim, o)
				after, lost := read(t, log, "t0")
				_, _, head, err := log.Head(t.Context(), "t0")
				if err != nil || lost == 0 || lost > head || len(after) >= len(before) || after[0] != before[0] || after[len(after)-1] != before[len(before)-1] {
					t.Errorf("%d frames, were %d; lost %d, head %d, %v", len(after), len(before), lost, head, err)
				}
				shut(t, log)
			}
		})
	}
}

// A frame that rots while the log is open raises lost.
func TestDamageWhileOpen(t *testing.T) {
	sim := newSim()
	log := openSim(t, sim, filelog.Options{})
	fill(t, log, 20)
	name := sim.segments()[0]
	at := strings.Index(string(sim.bytes(name)), "frame 10")
	sim.mu.Lock()
	sim.names[name].data[at]++
	sim.mu.Unlock()
	epoch, _, _, _ := log.Head(t.Context(), "t0")
	page, lost, err := log.Range(t.Context(), "t0", epoch, 0, 100)
	if err != nil || lost != 6 || len(page) != 4 || string(page[0].Frame) != "frame 12" || log.Stats().Damaged != 1 {
		t.Errorf("%d entries, lost %d, %v", len(page), lost, err)
	}
	if other, lost := read(t, log, "t1"); len(other) != 10 || lost != 0 {
		t.Errorf("the other topic: %d frames, lost %d", len(other), lost)
	}
	shut(t, log)
}

func TestRetentionByBytes(t *testing.T) {
	dir := t.TempDir()
	o := filelog.Options{MaxBytes: 64 << 10, SegmentBytes: 8 << 10, Sync: filelog.SyncNever}
	log := open(t, dir, o)
	if _, err := log.Append(t.Context(), "once", "", nil); err != nil {
		t.Fatal(err)
	}
	fill(t, log, 5000)
	if epoch, _, _, err := log.Head(t.Context(), "once"); epoch != "" || err != nil {
		t.Errorf("a topic of which nothing is left has epoch %q, %v", epoch, err)
	}
	for range 2 {
		frames, lost := read(t, log, "t1")
		_, _, head, _ := log.Head(t.Context(), "t1")
		if lost == 0 || uint64(len(frames)) != head-lost || frames[len(frames)-1] != "frame 4999" {
			t.Errorf("%d frames, lost %d, head %d", len(frames), lost, head)
		}
		var size int64
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				t.Fatal(err)
			}
			size += info.Size()
		}
		if s := log.Stats(); size > o.MaxBytes || size < o.MaxBytes/2 || s.Topics != 2 || s.Frames < 500 {
			t.Errorf("%d bytes of %d; %+v", size, o.MaxBytes, s)
		}
		shut(t, log)
		log = open(t, dir, o)
	}
	shut(t, log)
}

func TestRetentionByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSim()
		log := openSim(t, sim, filelog.Options{MaxAge: 8 * time.Hour})
		for hour := range 24 {
			if _, err := log.Append(t.Context(), "t", "", fmt.Append(nil, hour)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		synctest.Wait()
		frames, lost := read(t, log, "t")
		if len(frames) < 8 || len(frames) > 10 || frames[len(frames)-1] != "23" || lost == 0 {
			t.Errorf("frames %q, lost %d", frames, lost)
		}
		time.Sleep(12 * time.Hour)
		synctest.Wait()
		if s := log.Stats(); s.Topics != 0 || s.Frames != 0 || s.Segments != 1 {
			t.Errorf("after a quiet time %+v", s)
		}
		shut(t, log)
	})
}

// A full disk refuses appends, keeps what it has, and is no harm once it has room.
func TestFullDisk(t *testing.T) {
	sim := newSim()
	log := openSim(t, sim, filelog.Options{SegmentBytes: 2000, MaxBytes: 1 << 20})
	fill(t, log, 50)
	before, _ := read(t, log, "t0")
	for _, noCut := range []bool{false, true} { // the second time not even the torn end can be cut off
		sim.set(30, false, noCut)
		for range 3 {
			if _, err := log.Append(t.Context(), "t0", "x", make([]byte, 100)); !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, errIO) {
				t.Fatalf("full: %v", err)
			}
		}
		if frames, _ := read(t, log, "t0"); len(frames) != len(before) {
			t.Errorf("%d frames, were %d", len(frames), len(before))
		}
	}
	sim.set(-1, false, false)
	if _, err := log.Append(t.Context(), "t0", "x", []byte("room")); err != nil {
		t.Fatal(err)
	}
	fill(t, log, 50)
	shut(t, log)
	log = openSim(t, sim, filelog.Options{SegmentBytes: 2000, MaxBytes: 1 << 20})
	if frames, lost := read(t, log, "t0"); len(frames) != len(before)+26 || frames[len(before)] != "room" || lost != 0 {
		t.Errorf("%d frames, lost %d", len(frames), lost)
	}
	shut(t, log)
}

// A failed fsync under SyncAlways refuses the append; no later one lies about it.
func TestFailedSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, policy := range []filelog.SyncPolicy{filelog.SyncAlways, filelog.SyncInterval} {
			sim := newSim()
			log := openSim(t, sim, filelog.Options{Sync: policy})
			fill(t, log, 10)
			sim.set(-1, true, false)
			_, err := log.Append(t.Context(), "t0", "", []byte("refused"))
			if refused := errors.Is(err, errIO); refused != (policy == filelog.SyncAlways) {
				t.Errorf("%v: %v", policy, err)
			}
			time.Sleep(200 * time.Millisecond)
			if err := log.Sync(t.Context()); !errors.Is(err, errIO) {
				t.Errorf("%v: sync: %v", policy, err)
			}
			sim.set(-1, false, false)
			if _, err := log.Append(t.Context(), "t0", "", []byte("last")); err != nil {
				t.Error(err)
			}
			if err := log.Sync(t.Context()); err != nil {
				t.Error(err)
			}
			want, _ := read(t, log, "t0")
			sim.powerLoss(nil, 0)
			_ = log.Close() // dead
			log = openSim(t, sim, filelog.Options{Sync: policy})
			if got, _ := read(t, log, "t0"); fmt.Sprint(got) != fmt.Sprint(want) || got[len(got)-1] != "last" {
				t.Errorf("%v: %q, was %q", policy, got, want)
			}
			shut(t, log)
		}
	})
}

// A block is reserved with one fsync, and a new topic needs none.
func TestReservation(t *testing.T) {
	sim := newSim()
	log := openSim(t, sim, filelog.Options{Sync: filelog.SyncNever})
	entries := make([]topiclog.Entry, 65_536)
	for i := range entries {
		entries[i].Topic = "t"
	}
	if err := log.AppendAll(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	if s := log.Stats(); s.Syncs != 0 || s.Writes != 1 {
		t.Errorf("a block: %+v", s)
	}
	for range 10 {
		if _, err := log.Append(t.Context(), "t", "", nil); err != nil {
			t.Fatal(err)
		}
	}
	if s := log.Stats(); s.Syncs != 1 {
		t.Errorf("the next block: %d syncs", s.Syncs)
	}
	sim.powerLoss(nil, 0)
	_ = log.Close() // dead
	log = openSim(t, sim, filelog.Options{})
	if _, lost, head, err := log.Head(t.Context(), "t"); lost != 2*65_536 || head != lost || err != nil {
		t.Errorf("lost %d, head %d, %v", lost, head, err)
	}
	if offset, err := log.Append(t.Context(), "t", "", nil); offset != 2*65_536+1 || err != nil {
		t.Errorf("offset %d, %v", offset, err)
	}
	shut(t, log)
}

// Topics come and go, segments are deleted under readers, tails listen: all of it
// at once, for the race detector and for order.
func TestTogether(t *testing.T) {
	log := open(t, t.TempDir(), filelog.Options{MaxBytes: 128 << 10, SegmentBytes: 16 << 10, Sync: filelog.SyncInterval, SyncEvery: 10 * time.Millisecond})
	tailed := make(chan error, 1)
	seen := map[string]uint64{}
	go func() {
		tailed <- log.Tail(context.Background(), func(e topiclog.Entry) {
			if e.Offset <= seen[e.Topic+e.Epoch] || string(e.Frame[:len(e.Topic)]) != e.Topic {
				t.Errorf("tail: %s offset %d after %d, frame %q", e.Topic, e.Offset, seen[e.Topic+e.Epoch], e.Frame)
			}
			seen[e.Topic+e.Epoch] = e.Offset
		})
	}()
	var writing, reading sync.WaitGroup
	for w := range 8 {
		writing.Go(func() {
			for n := range 500 {
				topic := fmt.Sprint("t", (w+n/100)%12)
				if _, err := log.Append(context.Background(), topic, fmt.Sprint(w, n), fmt.Append(nil, topic, " ", n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	for i := range 4 {
		reading.Go(func() {
			topic, epoch, after := fmt.Sprint("t", i), "", uint64(0)
			for over := false; !over; {
				select {
				case <-done:
					over = true
				default:
				}
				e, _, _, err := log.Head(context.Background(), topic)
				if err != nil {
					t.Error(err)
				}
				if e != epoch {
					epoch, after = e, 0
				}
				page, _, err := log.Range(context.Background(), topic, epoch, after, 20)
				if err != nil && !errors.Is(err, topiclog.ErrEpoch) {
					t.Error(err)
				}
				for _, e := range page {
					if e.Offset <= after || !strings.HasPrefix(string(e.Frame), topic) {
						t.Errorf("range: %s offset %d after %d, frame %q", topic, e.Offset, after, e.Frame)
					}
					after = e.Offset
				}
				if len(page) == 0 {
					after = 0
				}
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	shut(t, log)
	if err := <-tailed; !errors.Is(err, topiclog.ErrClosed) {
		t.Error(err)
	}
}

// Topics cost memory and disk only while something of them is kept.
func TestManyTopics(t *testing.T) {
	dir := t.TempDir()
	o := filelog.Options{MaxBytes: 4 << 20, Sync: filelog.SyncNever}
	log := open(t, dir, o)
	entries := make([]topiclog.Entry, 10_000)
	for i := range entries {
		entries[i] = topiclog.Entry{Topic: fmt.Sprint("topic.", i), Frame: make([]byte, 50)}
	}
	if err := log.AppendAll(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	shut(t, log)
	log = open(t, dir, o)
	if s := log.Stats(); s.Topics != 10_000 || s.Frames != 10_000 {
		t.Errorf("%+v", s)
	}
	for i, e := range entries[:100] {
		epoch, _, head, err := log.Head(t.Context(), e.Topic)
		if err != nil || epoch != e.Epoch || head != 1 {
			t.Errorf("topic %d: %q %d, %v", i, epoch, head, err)
		}
	}
	for range 8 {
		fill(t, log, 10_000)
	}
	if s := log.Stats(); s.Topics != 2 || s.Bytes > o.MaxBytes {
		t.Errorf("long after: %+v", s)
	}
	shut(t, log)
}

// Appends that come together are written together.
func TestGroupCommit(t *testing.T) {
	log := open(t, t.TempDir(), filelog.Options{Sync: filelog.SyncAlways})
	var wg sync.WaitGroup
	const writers, each = 64, 20
	for range writers {
		wg.Go(func() {
			for range each {
				if _, err := log.Append(context.Background(), "t", "", make([]byte, 100)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if s := log.Stats(); s.Frames != writers*each || s.Writes > writers*each/4 || s.Syncs > s.Writes+1 {
		t.Errorf("%+v", s)
	}
	shut(t, log)
}
