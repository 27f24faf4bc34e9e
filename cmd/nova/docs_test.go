package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents are the Markdown files of the project.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"../../*.md", "../../docs/*.md"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all[path] = string(text)
		}
	}
	return all
}

// Every command line in a document has a command and flags that exist.
func TestDocumentedCommands(t *testing.T) {
	line := regexp.MustCompile(`(?m)^(?:[A-Z_]+=\S+ )*(?:go run \./cmd/)?nova ([a-z]+) (.*)$`)
	flag := regexp.MustCompile(`(?:^| )--([a-z][a-z-]*)`)
	checked := 0
	for path, text := range documents(t) {
		for i, part := range strings.Split(text, "```") {
			if i%2 == 0 {
				continue // not code
			}
			for _, m := range line.FindAllStringSubmatch(part, -1) {
				cmd, _, err := newRoot().Find([]string{m[1]})
				if err != nil || cmd.Name() != m[1] {
					t.Errorf("%s: there is no command %s", path, m[0])
					continue
				}
				words, _, _ := strings.Cut(m[2], " # ")
				for _, f := range flag.FindAllStringSubmatch(words, -1) {
					if cmd.Flags().Lookup(f[1]) == nil {
						t.Errorf("%s: %s has no flag --%s", path, m[1], f[1])
					}
				}
				checked++
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d command lines were found", checked)
	}
}

// Every setting that the page about deploying names exists.
func TestDocumentedSettings(t *testing.T) {
	text := documents(t)["../../docs/deploy.md"]
	known, sections := map[string]bool{}, map[string]bool{}
	for _, setting := range new(serveSettings).declare().All() {
		known[setting.Key] = true
		if section, _, ok := strings.Cut(setting.Key, "."); ok {
			sections[section] = true
		}
	}
	found := 0
	for _, m := range regexp.MustCompile("`([a-z0-9-]+(?:\\.[a-z-]+)?)[:`]").FindAllStringSubmatch(text, -1) {
		section, _, dotted := strings.Cut(m[1], ".")
		switch {
		case known[m[1]]:
			found++
		case dotted && sections[section]:
			t.Errorf("there is no setting %s", m[1])
		}
	}
	if found < 15 {
		t.Errorf("only %d settings were found", found)
	}
}
