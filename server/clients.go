package server

import (
	"bufio"
	"encoding/json"
	"net/http"
	"time"

	"github.com/ignex/nova"
)

// clientRecord is one client as GET /clients shows it.
type clientRecord struct {
	ID          string         `json:"id"`
	UserID      string         `json:"userId,omitempty"`
	Meta        map[string]any `json:"meta,omitempty"`
	Groups      []string       `json:"groups"`
	Topics      []string       `json:"topics"`
	ConnectedAt time.Time      `json:"connectedAt"`
	IP          string         `json:"ip"` // "" without a socket
	Connected   bool           `json:"connected"`
	Queued      int            `json:"queued"` // frames that no socket has taken
}

func recordOf(c *nova.Client) clientRecord {
	queued, _ := c.Queued()
	return clientRecord{
		ID: c.ID(), UserID: c.User(), Meta: c.Meta(), Groups: orEmpty(c.Groups()), Topics: orEmpty(c.Topics()),
		ConnectedAt: c.ConnectedAt().UTC(), IP: c.RemoteIP(), Connected: c.Connected(), Queued: queued,
	}
}

// orEmpty makes JSON write [] instead of null.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// serveClients writes the clients one a line, so that neither side needs all of
// them in memory.
func (s *Server) serveClients(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 32<<10)
	between := "[\n"
	for _, c := range s.hub.Clients() {
		line, err := json.Marshal(recordOf(c))
		if err != nil {
			s.options.Logger.Error("client not listed", "client", c.ID(), "error", err)
			continue
		}
		out.WriteString(between)
		between = ",\n"
		if _, err := out.Write(line); err != nil {
			return // nobody reads on
		}
	}
	if between == "[\n" {
		out.WriteString("[")
	}
	out.WriteString("\n]\n")
	_ = out.Flush() // the client is gone: nobody to tell
}
