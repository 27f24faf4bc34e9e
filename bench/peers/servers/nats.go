package servers

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// runNATS embeds nats-server with its WebSocket listener; the publisher is a
// client inside the process.
func runNATS(o Options) error {
	s, err := server.NewServer(&server.Options{
		DontListen: true, NoLog: true, NoSigs: true,
		Websocket: server.WebsocketOpts{Host: "127.0.0.1", Port: -1, NoTLS: true},
	})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return errors.New("nats: the server is not ready")
	}
	addr, err := net.ResolveTCPAddr("tcp", strings.TrimPrefix(s.WebsocketURL(), "ws://"))
	if err != nil {
		return err
	}
	conn, err := s.InProcessConn()
	if err != nil {
		return err
	}
	if err := natsConnect(conn); err != nil {
		return err
	}
	var out []byte
	publish := func(stamps []int64) {
		out = out[:0]
		for _, stamp := range stamps {
			out = fmt.Appendf(out, "PUB %s %d\r\n", Topic, max(o.Size, 16))
			out = append(append(out, o.payload(stamp)...), "\r\n"...)
		}
		if _, err := conn.Write(out); err != nil {
			fmt.Fprintln(os.Stderr, "nats: publish:", err)
		}
	}
	return serveControl(addr, Backend{Publish: publish})
}

func natsConnect(conn net.Conn) error {
	r := bufio.NewReader(conn)
	if _, err := r.ReadString('\n'); err != nil { // INFO
		return err
	}
	if _, err := conn.Write([]byte("CONNECT {\"verbose\":false,\"pedantic\":false}\r\nPING\r\n")); err != nil {
		return err
	}
	line, err := r.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "PONG") {
		return fmt.Errorf("nats: %q instead of PONG: %w", line, err)
	}
	go func() { // the server's own pings
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if strings.HasPrefix(line, "PING") {
				conn.Write([]byte("PONG\r\n"))
			}
		}
	}()
	return nil
}
