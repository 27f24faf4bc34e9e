package servers

import (
	"fmt"
	"slices"
	"strings"
)

var programs = map[string]func(Options) error{
	"nova": runNova, "centrifuge": runCentrifuge, "nats": runNATS,
	"gws": runGWS, "gorilla": runGorilla, "gorilla-deflate": runGorillaDeflate, "coder": runCoder, "bare": runBare,
}

// Run is the server program of that name. It returns when its control
// connection ends.
func Run(name string, o Options) error {
	run := programs[name]
	if run == nil {
		var names []string
		for n := range programs {
			names = append(names, n)
		}
		slices.Sort(names)
		return fmt.Errorf("there is no server %q; there are %s", name, strings.Join(names, ", "))
	}
	return run(o)
}
