package server_test

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/ignex/nova"
	"github.com/ignex/nova/hub"
	"github.com/ignex/nova/internal/ws"
	"github.com/ignex/nova/market"
	"github.com/ignex/nova/server"
)

// BenchmarkFanOut broadcasts a quote to 1,000 clients in another process, with
// one, 16 or 64 broadcasts outstanding: handed to the hub and not yet taken by
// all sockets, with sessions and their history and without. It prints deliveries per second and per second of the server's
// processor time; the client shares the machine, so only the latter compares.
func BenchmarkFanOut(b *testing.B) {
	const clients = 1000
	for _, c := range []struct {
		window   int
		sessions string
	}{{1, "on"}, {1, "off"}, {16, "on"}, {16, "off"}, {64, "on"}, {64, "off"}} {
		window := c.window
		b.Run(fmt.Sprint("outstanding=", window, "/sessions=", c.sessions), func(b *testing.B) {
			serve := startRole(b, "server", c.sessions)
			reader := startRole(b, "clients", serve.ask(""), strconv.Itoa(clients), "0")
			reader.ask("")
			serve.ask("publish\n")
			reader.ask("")
			b.ResetTimer()
			var deliveries, wall, cpu float64
			answer := serve.ask(fmt.Sprintf("fan %d %d\n", window, b.N))
			if _, err := fmt.Sscan(answer, &deliveries, &wall, &cpu); err != nil {
				b.Fatalf("%q: %v", answer, err)
			}
			b.StopTimer()
			b.ReportMetric(deliveries/wall, "deliveries/s")
			b.ReportMetric(deliveries/cpu, "deliveries/cpu-s")
			reader.stop()
			serve.stop()
		})
	}
}

// fan publishes n broadcasts, window at a time, and returns deliveries, seconds
// and seconds of processor time.
func fan(h *hub.Hub, srv *server.Server, window, n int) (int, float64, float64) {
	ctx := context.Background()
	q := quote(1)
	frame, err := market.QuoteEvent.AppendFrame(nil, q)
	if err != nil {
		log.Fatal(err)
	}
	size := uint64((len(frame) + ws.HeaderSize(len(frame))) * h.Len())
	start, startCPU, sent := time.Now(), processorTime(), srv.Metrics().SentBytes
	for done := 0; done < n; {
		k := min(window, n-done)
		for range k {
			if err := market.QuoteEvent.Publish(ctx, h, nova.Broadcast(), q); err != nil {
				log.Fatal(err)
			}
		}
		done += k
		for sent += size * uint64(k); srv.Metrics().SentBytes < sent; {
			time.Sleep(50 * time.Microsecond)
		}
	}
	return n * h.Len(), time.Since(start).Seconds(), (processorTime() - startCPU).Seconds()
}

// drainAll reads and drops what comes until stdin ends.
func drainAll(conns []net.Conn) {
	for _, nc := range conns {
		nc.SetDeadline(time.Time{})
		go func() {
			buf := make([]byte, 32<<10)
			for {
				if _, err := nc.Read(buf); err != nil {
					return
				}
			}
		}()
	}
	bufio.NewScanner(os.Stdin).Scan()
}
