// Command gen regenerates the control events of the protocol from
// wire/control/schema.json: the Go package, the module of the TypeScript client
// and the .fbs for clients in other languages. Run it in the repository's root.
// With --check it writes nothing and fails when a file is not up to date.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/ignex/nova/codegen"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail when a file is not what would be written")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	report, err := codegen.Run(codegen.Config{
		Schema:  "wire/control/schema.json",
		GoDir:   "wire/control",
		TSDir:   "clients/typescript/src/control",
		FBSDir:  "wire/control",
		Runtime: "../wire/index.js",
		Control: true,
		Check:   check,
	})
	if err != nil {
		return err
	}
	if len(report.Stale) > 0 {
		return fmt.Errorf("not up to date, run without --check: %s", strings.Join(report.Stale, "; "))
	}
	_, err = fmt.Printf("control: %d events, fingerprint %s; %d of %d files changed\n",
		report.Events, report.Fingerprint, len(report.Written), len(report.Files))
	return err
}
