// Package deploy_test holds the files of this directory against the programs that
// read them.
package deploy_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
)

// text reads a file of this directory.
func text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// put writes a file into a directory.
func put(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// replace changes a text that has to be there.
func replace(t *testing.T, in, old, new string) string {
	t.Helper()
	if !strings.Contains(in, old) {
		t.Fatalf("there is no %q", old)
	}
	return strings.ReplaceAll(in, old, new)
}

// run runs a program to its end.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v (make setup installs what is missing)\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// built is the command, built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "nova-deploy")
	if err != nil {
		return "", err
	}
	builtIn = dir
	binary := filepath.Join(dir, "nova")
	if out, err := exec.Command("go", "build", "-o", binary, "../cmd/nova").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
})

// builtIn is the directory of the command, "" before it is built.
var builtIn string

func TestMain(m *testing.M) {
	code := m.Run()
	if builtIn != "" {
		_ = os.RemoveAll(builtIn) // a temporary directory
	}
	os.Exit(code)
}

// buildNova returns the command.
func buildNova(t *testing.T) string {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// settings puts the example settings, with what they name, into a directory.
func settings(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	put(t, dir, "nova.yaml", text(t, "nova.yaml"))
	put(t, dir, "schema.json", text(t, "../examples/seismic/schema.json"))
	put(t, dir, "admin-token", "an-admin-token-of-some-length\n")
	return dir
}

func TestSettings(t *testing.T) {
	out := run(t, buildNova(t), "config", "--config", filepath.Join(settings(t), "nova.yaml"))
	if !strings.Contains(out, "token: '***' # admin.token-file") || strings.Contains(out, "of-some-length") {
		t.Error(out)
	}
}

// The unit is right for systemd, and exposes little.
func TestUnit(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unit := put(t, t.TempDir(), "nova.service", replace(t, text(t, "nova.service"), "/usr/local/bin/nova", program))
	if out := run(t, "systemd-analyze", "verify", unit); out != "" {
		t.Errorf("systemd-analyze verify: %s", out)
	}
	run(t, "systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", unit)
}

// Each instruction is one that Docker knows, and copies what is there.
func TestDockerfile(t *testing.T) {
	file := text(t, "Dockerfile")
	known := regexp.MustCompile(`^(FROM|WORKDIR|COPY|RUN|USER|EXPOSE|STOPSIGNAL|HEALTHCHECK|ENTRYPOINT|CMD) \S`)
	var last []string
	for line := range strings.Lines(file) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !known.MatchString(line) {
			t.Errorf("instruction %q", line)
		}
		fields := strings.Fields(line)
		last = append(last, fields[0])
		if fields[0] != "COPY" || strings.HasPrefix(fields[1], "--from") {
			continue
		}
		for _, source := range fields[1 : len(fields)-1] {
			if _, err := os.Stat(filepath.Join("..", source)); err != nil {
				t.Error(err)
			}
		}
	}
	if !slices.Contains(last, "USER") || !slices.Contains(last, "HEALTHCHECK") {
		t.Errorf("instructions %v", last)
	}
	goMod := text(t, "../go.mod")
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(goMod)[1]
	if !strings.Contains(file, "FROM golang:"+version+"-") {
		t.Errorf("the image is not built with Go %s", version)
	}
}

// The compose file is YAML of known keys, and its variables are settings.
func TestCompose(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Image, Restart string
			Build          struct{ Context, Dockerfile string }
			Ports          []string
			Environment    map[string]string
			Secrets        []string
			Volumes        []string
			ReadOnly       bool     `yaml:"read_only"`
			CapDrop        []string `yaml:"cap_drop"`
			SecurityOpt    []string `yaml:"security_opt"`
			Ulimits        map[string]int
			MemLimit       string `yaml:"mem_limit"`
			Grace          string `yaml:"stop_grace_period"`
			Healthcheck    struct {
				Test              []string
				Interval, Timeout string
				Retries           int
			}
		}
		Secrets map[string]struct{ File string }
		Volumes map[string]any
	}
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text(t, "compose.yaml"))))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	nova := file.Services["nova"]
	if _, err := os.Stat(filepath.Join(nova.Build.Context, nova.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	dir := settings(t)
	cmd := exec.Command(buildNova(t), "config", "--config", filepath.Join(dir, "nova.yaml"), "--admin-token-file", filepath.Join(dir, "admin-token"))
	cmd.Env = os.Environ()
	for name, value := range nova.Environment {
		if name != "NOVA_ADMIN_TOKEN_FILE" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "addr: :3000 # NOVA_ADDR\n") || !strings.Contains(string(out), "dir: /var/lib/nova # NOVA_FILELOG_DIR\n") {
		t.Errorf("%v %s", err, out)
	}
}

// The manifest is consistent in itself: mounts have volumes, the service finds the
// pod and its port, and the variables are settings.
func TestKubernetes(t *testing.T) {
	type named struct{ Name string }
	var service struct {
		Spec struct {
			Selector map[string]string
			Ports    []struct{ TargetPort string }
		}
	}
	var set struct {
		Kind string
		Spec struct {
			Replicas int
			Template struct {
				Metadata struct{ Labels map[string]string }
				Spec     struct {
					Containers []struct {
						Env                           []struct{ Name, Value string }
						Ports                         []named
						VolumeMounts                  []named
						LivenessProbe, ReadinessProbe struct {
							HTTPGet struct{ Path, Port string } `yaml:"httpget"`
						}
					}
					Volumes []named
				}
			}
			VolumeClaimTemplates []struct{ Metadata named }
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(lowerFirst.ReplaceAllStringFunc(text(t, "kubernetes.yaml"), strings.ToLower)))
	for _, into := range []any{&service, &set} {
		if err := decoder.Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	pod := set.Spec.Template.Spec
	container := pod.Containers[0]
	if set.Spec.Replicas != 1 || fmt.Sprint(service.Spec.Selector) != fmt.Sprint(set.Spec.Template.Metadata.Labels) || service.Spec.Ports[0].TargetPort != container.Ports[0].Name {
		t.Errorf("service %+v, pod %+v", service, set)
	}
	volumes := pod.Volumes
	for _, claim := range set.Spec.VolumeClaimTemplates {
		volumes = append(volumes, claim.Metadata)
	}
	for _, mount := range container.VolumeMounts {
		if !slices.Contains(volumes, mount) {
			t.Errorf("no volume for %s", mount.Name)
		}
	}
	if container.LivenessProbe.HTTPGet.Path != "/healthz" || container.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Errorf("probes %+v", container)
	}
	known := run(t, buildNova(t), "config", "--config", filepath.Join(settings(t), "nova.yaml"), "--json")
	for _, env := range container.Env {
		key := strings.ToLower(strings.TrimPrefix(env.Name, "NOVA_"))
		pattern := regexp.MustCompile(`"key": "` + strings.ReplaceAll(key, "_", "[.-]") + `"`)
		if strings.HasPrefix(env.Name, "NOVA_") && !pattern.MatchString(known) {
			t.Errorf("%s is no setting", env.Name)
		}
	}
}

// lowerFirst finds the names of YAML, which package yaml expects in lower case.
var lowerFirst = regexp.MustCompile(`(?m)^[ -]*[a-zA-Z]+:`)

func TestKernelSettings(t *testing.T) {
	line := regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_-]+)+ = \d+( \d+)*$`)
	for l := range strings.Lines(text(t, "sysctl.conf")) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") && !line.MatchString(l) {
			t.Errorf("line %q", l)
		}
	}
}

// freePort returns a port that nobody listens on, below those that the system gives to
// whoever asks for any: it stays free until the proxy listens.
func freePort(t *testing.T) int {
	t.Helper()
	var config net.ListenConfig
	for range 100 {
		port := 15_000 + rand.IntN(10_000)
		if l, err := config.Listen(context.Background(), "tcp", fmt.Sprintf(":%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
