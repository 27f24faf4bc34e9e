// Command calls compares one connection that calls and waits: nova, connect-go (unary
// over HTTP/1.1 with keep-alive) and centrifuge (rpc over a WebSocket), each with its
// own client, requests and responses of 64 bytes, and bare reads and writes of as many. The server is a process on one
// processor, the client one on another; what counts is calls per second of the
// server's CPU time, and of both, as ratios within one round.
//
//	go run ./cmd/calls -samples 5 -duration 2s [-depth 16]
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "calls:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 2 && args[0] == "serve" {
		return serve(args[1])
	}
	if len(args) > 0 && args[0] == "load" {
		return load(args[1:])
	}
	fs := flag.NewFlagSet("calls", flag.ContinueOnError)
	samples := fs.Int("samples", 5, "rounds")
	duration := fs.Duration("duration", 2*time.Second, "of one sample")
	depth := fs.Int("depth", 1, "calls under way at a time")
	only := fs.String("only", strings.Join(peers(), ","), "peers, separated by commas")
	profile := fs.String("profile", "", "write CPU profiles of the server and the client to files that begin so")
	pin := fs.Bool("pin", true, "server on processor 0, client on processor 1")
	if err := fs.Parse(args); err != nil {
		return err
	}
	rates := map[string][]sample{}
	names := strings.Split(*only, ",")
	for range *samples {
		for _, name := range names {
			s, err := measure(name, *duration, *depth, *pin, *profile)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			rates[name] = append(rates[name], s)
		}
	}
	report(out, names, rates)
	return nil
}

// sample is what one connection did in one run.
type sample struct {
	calls          int
	wall           time.Duration
	server, client time.Duration // CPU time
}

func (s sample) ofServer() float64 { return float64(s.calls) / s.server.Seconds() / 1000 }
func (s sample) ofBoth() float64 {
	return float64(s.calls) / (s.server + s.client).Seconds() / 1000
}
func (s sample) perSecond() float64 { return float64(s.calls) / s.wall.Seconds() / 1000 }

// child is this program in another role, told and asked over its standard streams.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func start(pin bool, cpu string, args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := append([]string{self}, args...)
	if pin {
		command = append([]string{"taskset", "-c", cpu}, command...)
	}
	c := &child{cmd: exec.Command(command[0], command[1:]...)}
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewScanner(out)
	return c, c.cmd.Start()
}

func (c *child) line() (string, error) {
	if !c.out.Scan() {
		return "", errors.Join(errors.New("the child said nothing"), c.out.Err())
	}
	return c.out.Text(), nil
}

func (c *child) ask(what string) (string, error) {
	if _, err := fmt.Fprintln(c.in, what); err != nil {
		return "", err
	}
	return c.line()
}

func (c *child) stop() error {
	c.in.Close()
	return c.cmd.Wait()
}

func measure(name string, d time.Duration, depth int, pin bool, profile string) (s sample, err error) {
	server, err := start(pin, "0", "serve", name)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	address, err := server.line()
	if err != nil {
		return s, err
	}
	client, err := start(pin, "1", "load", name, address, fmt.Sprint(depth), d.String(), profile)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, client.stop()) }()
	if _, err := client.line(); err != nil { // warm
		return s, err
	}
	if profile != "" {
		if _, err := server.ask("profile " + profile + "-" + name + "-server.pprof"); err != nil {
			return s, err
		}
	}
	before, err := server.cpu()
	if err != nil {
		return s, err
	}
	text, err := client.ask("go")
	if err != nil {
		return s, err
	}
	after, err := server.cpu()
	if err != nil {
		return s, err
	}
	if _, err := fmt.Sscanf(text, "%d %d %d", &s.calls, (*int64)(&s.wall), (*int64)(&s.client)); err != nil {
		return s, fmt.Errorf("%q: %w", text, err)
	}
	s.server = after - before
	return s, nil
}

func (c *child) cpu() (time.Duration, error) {
	text, err := c.ask("cpu")
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(text, 10, 64)
	return time.Duration(ns), err
}

// used returns the CPU time of this process so far.
func used() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func report(out io.Writer, names []string, rates map[string][]sample) {
	fmt.Fprintf(out, "| peer | thousand per server CPU second | thousand per CPU second of both | thousand per second | nova / peer, server | nova / peer, both |\n|---|---|---|---|---|---|\n")
	for _, name := range names {
		list := rates[name]
		fmt.Fprintf(out, "| %s | %s | %s | %s |", name,
			spread(list, sample.ofServer), spread(list, sample.ofBoth), spread(list, sample.perSecond))
		for _, of := range []func(sample) float64{sample.ofServer, sample.ofBoth} {
			var ratios []float64
			for i, own := range rates["nova"] {
				ratios = append(ratios, of(own)/of(list[i]))
			}
			text := ""
			if slices.Sort(ratios); len(ratios) > 0 && name != "nova" {
				text = fmt.Sprintf("%.2f (%.2f–%.2f)", median(ratios), ratios[0], ratios[len(ratios)-1])
			}
			fmt.Fprintf(out, " %s |", text)
		}
		fmt.Fprintln(out)
	}
}

func spread(list []sample, of func(sample) float64) string {
	var all []float64
	for _, s := range list {
		all = append(all, of(s))
	}
	slices.Sort(all)
	return fmt.Sprintf("%.1f (%.1f–%.1f)", median(all), all[0], all[len(all)-1])
}

func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
