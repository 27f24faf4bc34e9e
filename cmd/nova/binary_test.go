//go:build unix

package main

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ignex/nova/client"
)

// process is a running binary.
type process struct {
	*exec.Cmd
	stderr *bufio.Scanner
	url    string
}

// startBinary runs nova serve as a process of its own.
func startBinary(t *testing.T, binary string, args ...string) *process {
	t.Helper()
	schema := write(t, "tiny.json", tinySchema)
	p := &process{Cmd: exec.Command(binary, append([]string{"serve", "--addr", "127.0.0.1:0", "--schema", schema}, args...)...)}
	pipe, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stderr = bufio.NewScanner(pipe)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // fails when it has ended, as it should have
	_, url, _ := strings.Cut(p.line(t, "nova serve is up"), "url=ws")
	url, _, _ = strings.Cut(url, "/ws ")
	p.url = "http" + url
	return p
}

// line waits for a line of standard error.
func (p *process) line(t *testing.T, text string) string {
	t.Helper()
	for p.stderr.Scan() {
		if strings.Contains(p.stderr.Text(), text) {
			return p.stderr.Text()
		}
	}
	t.Fatalf("no line with %q", text)
	return ""
}

// end reads the rest of standard error and waits for the process.
func (p *process) end() (rest string, state *syscall.WaitStatus) {
	for p.stderr.Scan() {
		rest += p.stderr.Text() + "\n"
	}
	_ = p.Wait() // the state says it
	status := p.ProcessState.Sys().(syscall.WaitStatus)
	return rest, &status
}

// buildBinary builds the command as users have it.
func buildBinary(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "nova")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

func TestBinary(t *testing.T) {
	binary := buildBinary(t)
	t.Run("signals", func(t *testing.T) { testSignals(t, binary) })
	t.Run("second signal", func(t *testing.T) { testSecondSignal(t, binary) })
	t.Run("hangup", func(t *testing.T) { testHangup(t, binary) })
	t.Run("watch", func(t *testing.T) { testWatchSignal(t, binary) })
	t.Run("exit codes", func(t *testing.T) { testExitCodes(t, binary) })
}

// The first signal sends the clients away.
func testSignals(t *testing.T, binary string) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p := startBinary(t, binary, "--drain", "5s")
		conn, err := dial(t, p.url, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if rest, state := p.end(); state.ExitStatus() != 0 || !strings.Contains(rest, "shutting down") || strings.Contains(rest, "cut off") {
			t.Errorf("%v: exit %d, %s", signal, state.ExitStatus(), rest)
		}
		if now := conn.Status(); now.State == client.Closed {
			t.Errorf("%v: the client gave up: %+v", signal, now)
		}
	}
}

// Ctrl-C is how nova generate --watch ends.
func testWatchSignal(t *testing.T, binary string) {
	schema := write(t, "tiny.json", tinySchema)
	p := &process{Cmd: exec.Command(binary, "generate", "--schema", schema, "--go", filepath.Join(filepath.Dir(schema), "tiny"), "--watch")}
	pipe, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stderr = bufio.NewScanner(pipe)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // fails when it has ended, as it should have
	p.line(t, "Ctrl-C ends")
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if rest, state := p.end(); state.ExitStatus() != 0 || rest != "" {
		t.Errorf("exit %d, %s", state.ExitStatus(), rest)
	}
}

// The second signal ends the process, whatever the clients do.
func testSecondSignal(t *testing.T, binary string) {
	p := startBinary(t, binary, "--drain", "1h")
	silent, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	io.WriteString(silent, "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	if resp, err := http.ReadResponse(bufio.NewReader(silent), nil); err != nil || resp.StatusCode != 101 {
		t.Fatalf("%v %v", resp, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, state := p.end(); !state.Signaled() || state.Signal() != syscall.SIGTERM {
			t.Errorf("after the second signal: exit %d", state.ExitStatus())
		}
	}()
	// The handler is taken away by another goroutine: a signal too early counts as
	// the first.
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-ended:
			return
		case <-again.C:
			_ = p.Process.Signal(syscall.SIGTERM)
		}
	}
}

// SIGHUP brings a new certificate in, keeps the old one when the new one is broken,
// and drops nobody.
func testHangup(t *testing.T, binary string) {
	dir := t.TempDir()
	cert, key := certificateFiles(t, dir, "one")
	p := startBinary(t, binary, "--tls-cert", cert, "--tls-key", key)
	first, err := tls.Dial("tcp", strings.TrimPrefix(p.url, "https://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	name := func(conn *tls.Conn) string { return conn.ConnectionState().PeerCertificates[0].DNSNames[0] }
	certificateFiles(t, dir, "two")
	for _, step := range []struct{ logs, name string }{{"certificate loaded", "two"}, {"the certificate of before stays in use", "two"}} {
		if err := p.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		p.line(t, step.logs)
		conn, err := tls.Dial("tcp", strings.TrimPrefix(p.url, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := name(conn); got != step.name {
			t.Errorf("certificate %s, want %s", got, step.name)
		}
		conn.Close()
		if err := os.WriteFile(key, []byte("broken"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(first, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.ReadResponse(bufio.NewReader(first), nil); err != nil || resp.StatusCode != 200 || name(first) != "one" {
		t.Errorf("the connection of before: %v %v", resp, err)
	}
}

// Exit codes are those of the process, not only of run.
func testExitCodes(t *testing.T, binary string) {
	for want, args := range map[int][]string{0: {"version"}, 1: {"serve", "--schema", "x.json"}, 2: {"serve", "--drain", "x"}} {
		cmd := exec.Command(binary, args...)
		out, _ := cmd.CombinedOutput() // the state says how it ended
		if got := cmd.ProcessState.ExitCode(); got != want || strings.Count(string(out), "\n") != 1 {
			t.Errorf("nova %v: exit %d, want %d: %s", args, got, want, out)
		}
	}
}
