package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"
)

// maxAnswer bounds an answer of the administrative routes, in bytes: the list of a
// few hundred thousand clients.
const maxAnswer = 256 << 20

// adminFlags are the flags of commands that operate a running server.
type adminFlags struct{ serverFlags }

func (a *adminFlags) add(cmd *cobra.Command) {
	a.addAddress(cmd)
	a.addToken(cmd, "the server's admin token; also from NOVA_ADMIN_TOKEN, or NOVA_TOKEN")
}

func (a *adminFlags) resolve(cmd *cobra.Command) error {
	if err := a.serverFlags.resolve(cmd); err != nil {
		return err
	}
	if v := os.Getenv("NOVA_ADMIN_TOKEN"); v != "" && !a.tokenGiven(cmd) {
		a.token = v
	}
	return nil
}

// request sends one request and reads the JSON answer into answer.
func (a *adminFlags) request(ctx context.Context, method, path string, body, answer any) error {
	var in io.Reader
	kind := ""
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("make request: %w", err)
		}
		in, kind = bytes.NewReader(text), "application/json"
	}
	resp, err := a.do(ctx, method, path, kind, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read %s%s: %w", a.url, path, waitDone(ctx, err))
	}
	if resp.StatusCode != http.StatusOK {
		return a.refused(resp, path, data)
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("the answer of %s%s is not what nova serve sends (%w); check --url", a.url, path, err)
	}
	return nil
}

// refused says why there is no answer and what to do.
func (a *adminFlags) refused(resp *http.Response, path string, body []byte) error {
	var coded struct{ Code, Message string }
	switch {
	case resp.StatusCode == http.StatusUnauthorized && a.token == "":
		return fmt.Errorf("%s wants its admin token; give it with --token, --token-file or NOVA_ADMIN_TOKEN", a.url)
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%s does not take this token; its admin token is needed, that of clients is another", a.url)
	case json.Unmarshal(body, &coded) == nil && coded.Message != "":
		return fmt.Errorf("%s (%s)", coded.Message, coded.Code)
	case resp.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s has no %s; a nova server has it when it was started with an admin token", a.url, path)
	}
	return fmt.Errorf("%s%s answered %s", a.url, path, resp.Status)
}

// readTokenFile reads a token that a file holds, with or without a line break at its
// end.
func readTokenFile(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("cannot read %s (%w); check --token-file", path, errors.Unwrap(err))
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return "", fmt.Errorf("%s is empty; check --token-file", path)
	}
	return string(data), nil
}
