//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package filelog

import (
	"errors"
	"io"
)

func (osFS) SyncDir(string) error { return nil }

func (osFS) Lock(string) (io.Closer, error) {
	return nil, errors.New("filelog: this operating system has no file locks that end with the process; use topiclog.NewMemory")
}
