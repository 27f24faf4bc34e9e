// Command realserver is the Go server that the scenarios of the TypeScript client
// run against: package internal/realserver as a program. It prints its address, then
// reads commands line by line and answers each with one line. It ends with its
// standard input.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/ignex/nova/internal/realserver"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() (err error) {
	s, err := realserver.Start(os.Args[1:], os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fmt.Println(s.URL)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(s.Obey(lines.Text()))
	}
	return lines.Err()
}
