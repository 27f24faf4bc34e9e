package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
	"github.com/ignex/nova/wire/control"
)

const roleVariable = "NOVA_SERVER_TEST_ROLE"

// idleBar is the memory an idle connection may take, in bytes.
const idleBar = 6 << 10

// BenchmarkIdleConnections prints what one idle connection costs the server, of
// 10,000 that have said hello and received one event. Server and clients are
// processes of their own; the figure is the growth of the server's resident
// memory after a collection.
func BenchmarkIdleConnections(b *testing.B) {
	for _, c := range []struct {
		name  string
		joins string
	}{{"plain", "0"}, {"topic+group", "1"}} {
		b.Run(c.name, func(b *testing.B) {
			var m memory
			for range b.N {
				m = measureIdle(b, 10_000, c.joins)
			}
			b.Logf("one idle connection: %d bytes resident, %d of heap, %d of stack", m.rss, m.heap, m.stack)
			b.ReportMetric(float64(m.rss), "rss-B/conn")
			b.ReportMetric(float64(m.heap), "heap-B/conn")
			b.ReportMetric(float64(m.stack), "stack-B/conn")
			if m.rss > idleBar {
				b.Errorf("an idle connection takes %d bytes, the bar is %d", m.rss, idleBar)
			}
		})
	}
}

type memory struct{ rss, heap, stack int64 }

func measureIdle(b *testing.B, n int, joins string) memory {
	serve := startRole(b, "server")
	addr := serve.ask("")
	before := parseMemory(b, serve.ask("measure\n"))
	clients := startRole(b, "clients", addr, strconv.Itoa(n), joins)
	if line := clients.ask(""); line != "connected" {
		b.Fatalf("clients: %s", line)
	}
	if line := serve.ask("publish\n"); line != strconv.Itoa(n) {
		b.Fatalf("the event reached %s clients, want %d", line, n)
	}
	if line := clients.ask(""); line != "received" {
		b.Fatalf("clients: %s", line)
	}
	after := parseMemory(b, serve.ask("measure\n"))
	clients.stop()
	serve.stop()
	per := func(x, y int64) int64 { return (y - x) / int64(n) }
	return memory{per(before.rss, after.rss), per(before.heap, after.heap), per(before.stack, after.stack)}
}

// role is this test binary in another process.
type role struct {
	b   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startRole(b testing.TB, name string, args ...string) *role {
	b.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return &role{b, cmd, in, bufio.NewReader(out)}
}

// ask writes a command and returns the next line.
func (r *role) ask(command string) string {
	r.b.Helper()
	io.WriteString(r.in, command)
	line, err := r.out.ReadString('\n')
	if err != nil {
		r.b.Fatalf("%s: %v", command, err)
	}
	return strings.TrimSpace(line)
}

func (r *role) stop() {
	r.in.Close()
	r.cmd.Wait()
}

func parseMemory(b *testing.B, line string) (m memory) {
	b.Helper()
	if _, err := fmt.Sscan(line, &m.rss, &m.heap, &m.stack); err != nil {
		b.Fatalf("%q: %v", line, err)
	}
	return m
}

// playServer serves until its input ends.
func playServer() {
	options := hub.Options{Schema: market.Schema}
	options.Session.Off = len(os.Args) > 1 && os.Args[1] == "off"
	h, err := hub.New(options)
	if err != nil {
		log.Fatal(err)
	}
	srv, err := server.New(h, server.Options{AcceptRate: -1})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go http.Serve(listener, srv)
	fmt.Println(listener.Addr())
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		var window, n int
		if _, err := fmt.Sscanf(commands.Text(), "fan %d %d", &window, &n); err == nil {
			fmt.Println(fan(h, srv, window, n))
			continue
		}
		switch commands.Text() {
		case "measure":
			fmt.Println(measure())
		case "publish":
			var result nova.Result
			if err := market.QuoteEvent.Publish(context.Background(), h, nova.Broadcast(), quote(1), nova.Report(&result)); err != nil {
				log.Fatal(err)
			}
			fmt.Println(result.Members)
		}
	}
}

// measure returns resident memory, heap and stacks after collections: pools and
// grown stacks are given back over several.
func measure() (rss, heap, stack int64) {
	for range 6 {
		runtime.GC()
	}
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		log.Fatal(err) // the benchmark is for Linux
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	return pages * int64(os.Getpagesize()), int64(m.HeapAlloc), int64(m.StackInuse)
}

// playClients connects, says hello, waits for one event, and stays.
func playClients() {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	conns := make([]net.Conn, n)
	frames := []frameWriter{&control.Hello{Version: 2}}
	if os.Args[3] == "1" {
		frames = append(frames, &control.Subscribe{Topic: "equities"}, &control.JoinGroup{Group: "desk"})
	}
	frames = append(frames, &control.Ping{})
	var say []byte
	for _, m := range frames {
		frame, err := m.AppendFrame(nil)
		if err != nil {
			log.Fatal(err)
		}
		say = ws.AppendMasked(say, ws.Binary, frame, [4]byte{1, 2, 3, 4})
	}
	each(conns, func(i int) { conns[i] = connectIdle(os.Args[1], i, say) })
	fmt.Println("connected")
	each(conns, func(i int) { awaitFrame(conns[i], market.QuoteEvent.ID()) })
	fmt.Println("received")
	if n <= 1000 {
		drainAll(conns)
	}
	io.Copy(io.Discard, os.Stdin)
}

// each runs fn for every index, 64 at a time.
func each(conns []net.Conn, fn func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range 64 {
		wg.Go(func() {
			for i := range next {
				fn(i)
			}
		})
	}
	for i := range conns {
		next <- i
	}
	close(next)
	wg.Wait()
}

func connectIdle(addr string, i int, say []byte) net.Conn {
	// Other loopback addresses, so that ports do not run out.
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%4))}}
	nc, err := d.Dial("tcp", addr)
	if err != nil {
		log.Fatal(err)
	}
	nc.SetDeadline(time.Now().Add(2 * time.Minute))
	fmt.Fprintf(nc, "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	if _, err := nc.Write(say); err != nil {
		log.Fatal(err)
	}
	awaitFrame(nc, control.PongID)
	return nc
}

// awaitFrame reads until the id of an event appears; the few bytes before it
// cannot contain it.
func awaitFrame(nc net.Conn, id uint32) {
	want := string([]byte{2, byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24)})
	var got strings.Builder
	buf := make([]byte, 2048)
	for !strings.Contains(got.String(), want) {
		n, err := nc.Read(buf)
		if err != nil {
			log.Fatalf("waiting for %#x: %v", id, err)
		}
		got.Write(buf[:n])
	}
}
