package filelog_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/ignex/nova/topiclog/filelog"
)

// childEnv makes the test binary a process that appends until it is killed.
const childEnv = "FILELOG_TEST_CHILD"

// child prints a line for each append that was acknowledged.
func child(dir string) {
	log, err := filelog.Open(context.Background(), dir, filelog.Options{SegmentBytes: 64 << 10, MaxBytes: 1 << 30})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var mu sync.Mutex // whole lines
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				topic := fmt.Sprint("t", w%2)
				frame := fmt.Sprintf("%d/%d/%d/%s", os.Getpid(), w, n, strings.Repeat("x", n%200))
				offset, err := log.Append(context.Background(), topic, "", []byte(frame))
				if err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				mu.Lock()
				fmt.Println("ok", topic, offset, frame)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// TestKill: kill −9 in the middle of appends loses nothing that was acknowledged,
// no offset names two frames, and cursors go on.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	acked := map[string]string{} // topic and offset → frame
	epochs := map[string]string{}
	for round := range 5 {
		killed(t, dir, acked, 300+200*round)
		log := open(t, dir, filelog.Options{SegmentBytes: 64 << 10})
		found := map[string]string{}
		for _, topic := range []string{"t0", "t1"} {
			epoch, lost, _, err := log.Head(t.Context(), topic)
			if err != nil || lost != 0 || round > 0 && epochs[topic] != epoch {
				t.Errorf("round %d: %s lost %d, epoch %q, was %q, %v", round, topic, lost, epoch, epochs[topic], err)
			}
			epochs[topic] = epoch
			for after := uint64(0); ; {
				page, _, err := log.Range(t.Context(), topic, epoch, after, 1000)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				for _, e := range page {
					found[fmt.Sprint(topic, " ", e.Offset)] = string(e.Frame)
					after = e.Offset
				}
			}
		}
		for at, frame := range acked {
			if found[at] != frame {
				t.Fatalf("round %d: %s is %q, acknowledged was %q", round, at, found[at], frame)
			}
		}
		if round%2 == 0 {
			shut(t, log)
			continue
		}
		for at, frame := range found { // what was seen once stays, too
			acked[at] = frame
		}
		shut(t, log)
	}
}

// killed runs a child and kills it after so many acknowledged appends.
func killed(t *testing.T, dir string, acked map[string]string, after int) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		f := strings.Split(lines.Text(), " ")
		if len(f) != 4 || f[0] != "ok" {
			t.Errorf("the child says %q", lines.Text())
			break
		}
		at := f[1] + " " + f[2]
		if old, ok := acked[at]; ok && old != f[3] {
			t.Errorf("%s was %q and is %q", at, old, f[3])
		}
		acked[at] = f[3]
		if n++; n == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // killed
	if n < after {
		t.Fatalf("the child ended after %d appends", n)
	}
}
