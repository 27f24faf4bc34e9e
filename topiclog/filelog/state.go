package filelog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// runState is the file "state": how the last run ended, or that it has not.
type runState struct {
	Version int    `json:"version"`
	Clean   bool   `json:"clean"`
	Segment uint64 `json:"segment"` // the last one …
	Size    int64  `json:"size"`    // … and its size, when clean
	Boot    string `json:"boot"`
	Sync    string `json:"sync"`
}

const (
	stateName = "state"
	tempName  = "state.tmp"
	lockName  = "lock"
)

// readState returns nil when there is none, or none that can be read: the end was
// not clean.
func readState(fsys fileSystem, dir string) (*runState, error) {
	name := filepath.Join(dir, stateName)
	f, err := fsys.Open(name, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<16))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	var s runState
	if json.Unmarshal(text, &s) != nil {
		return nil, nil
	}
	if s.Version != formatVersion {
		return nil, fmt.Errorf("%s: %w %d; this build reads version %d", name, errVersion, s.Version, formatVersion)
	}
	return &s, nil
}

// writeState replaces the file, durably.
func writeState(fsys fileSystem, dir string, s runState) error {
	s.Version = formatVersion
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, tempName)
	f, err := fsys.Open(temp, true)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(append(text, '\n'), 0)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", temp, err)
	}
	if err := fsys.Rename(temp, filepath.Join(dir, stateName)); err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}
