package peers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ignex/nova/bench/peers/load"
)

const (
	serverCPU    = "0"
	clientCPU    = "1"
	readyTime    = time.Minute
	sampleTime   = 4 * time.Minute
	shutdownTime = 10 * time.Second
)

// sample starts a server and a client, and measures once.
func (b *Bench) sample(ctx context.Context, p Peer, w Workload) (load.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	s, err := b.startServer(ctx, p, w)
	if err != nil {
		return load.Result{}, fmt.Errorf("%s: %w", p.Name, err)
	}
	defer s.stop()
	spec := w.Spec
	spec.Protocol, spec.TLS, spec.PID = p.Protocol, p.TLS, s.cmd.Process.Pid
	spec.Spin = !p.Free && !b.Sleep
	spec.DataPort, spec.ControlPort = s.data, s.control
	r, err := b.client(ctx, p, spec)
	if err != nil {
		return r, fmt.Errorf("%s: %w%s", p.Name, err, s.said())
	}
	return r, nil
}

// pin returns the command line that runs on one processor.
func pin(p Peer, cpu string, command []string) []string {
	if p.Free {
		return command
	}
	return append([]string{"taskset", "-c", cpu}, command...)
}

type serverProcess struct {
	cmd           *exec.Cmd
	errors        bytes.Buffer
	data, control int
	done          chan error
}

func (b *Bench) startServer(ctx context.Context, p Peer, w Workload) (*serverProcess, error) {
	profile := ""
	if b.Profiles != "" {
		profile = filepath.Join(b.Profiles, w.Name+"-"+p.Name+".prof")
	}
	args := pin(p, serverCPU, p.command(b.self, b.JS, profile, w.Size))
	s := &serverProcess{cmd: exec.CommandContext(ctx, args[0], args[1:]...), done: make(chan error, 1)}
	s.cmd.Env = p.env()
	s.cmd.Stderr = &s.errors
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan error, 1)
	go func() {
		line, err := bufio.NewReader(out).ReadString('\n')
		if err == nil {
			_, err = fmt.Sscanf(line, "ready %d %d", &s.data, &s.control)
		}
		ready <- err
	}()
	select {
	case err = <-ready:
	case <-time.After(readyTime):
		err = errors.New("not ready in time")
	}
	if err != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		return nil, fmt.Errorf("the server did not start: %w%s", err, s.said())
	}
	go func() { s.done <- s.cmd.Wait() }()
	return s, nil
}

// stop waits for the end that follows the control connection's, then kills.
func (s *serverProcess) stop() {
	select {
	case <-s.done:
	case <-time.After(shutdownTime):
		s.cmd.Process.Kill()
		<-s.done
	}
}

// said is what the server wrote to its standard error, shortened.
func (s *serverProcess) said() string {
	text := strings.TrimSpace(s.errors.String())
	if text == "" {
		return ""
	}
	return "; the server said: " + text[:min(len(text), 600)]
}

func (b *Bench) client(ctx context.Context, p Peer, spec load.Spec) (r load.Result, err error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return r, err
	}
	args := pin(p, clientCPU, []string{b.self, "load", string(text)})
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "GOGC=400")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("client: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return r, json.Unmarshal(out, &r)
}
