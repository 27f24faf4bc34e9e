package client_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ignex/nova/client"
	"github.com/ignex/nova/wire/control"
)

// An attach that lists more topics than the server's largest message takes would be
// closed for with 1009, for good. The rest is asked for when the session is lost.
func TestAttachFitsTheServersMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const largest, topics = 4096, 40
		f := newFake(t)
		c, p := f.session(client.Options{}, control.Session{MaxMessage: largest})
		name := func(n int) string { return fmt.Sprintf("%02d%s", n, strings.Repeat("x", 253)) }
		for n := range topics {
			_, _ = c.Subscribe(t.Context(), name(n))
			p.expect(fmt.Sprintf(`nova.subscribe %d %s "" 0`, n+1, name(n)))
			p.numbered(uint64(n+1), &control.TopicSubscribed{ID: int64(n + 1), Topic: name(n), Epoch: "epoch", Offset: 7})
		}
		synctest.Wait()
		p.conn.Close()
		p = f.next()
		p.welcome("session/1", "topics/1")
		<-p.frames // hello
		attach := <-p.frames
		<-p.raw
		listed := strings.Count(attach, "@epoch:7")
		if size := len(<-p.raw); size > largest || listed < 10 || listed >= topics {
			t.Fatalf("an attach of %d bytes with %d topics", size, listed)
		}
		p.control(&control.Session{Session: "n.2", ClientID: "c1", NextSeq: 1, MaxMessage: largest})
		for n := listed; n < topics; n++ {
			p.expect(fmt.Sprintf(`nova.subscribe %d %s "epoch" 7`, n+1, name(n)))
		}
		p.quiet()
		shut(t, c, p)
	})
}
