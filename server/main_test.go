package server_test

import (
	"os"
	"testing"

	"github.com/ignex/nova/internal/leak"
)

// TestMain also plays the roles of the tests and benchmarks that need processes of
// their own: they start this binary again.
func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "server":
		playServer()
	case "logged":
		playLogged()
	case "clients":
		playClients()
	case "crowd":
		playCrowd()
	default:
		leak.Main(m)
	}
}
