package config

import (
	"bytes"
	"errors"
	"fmt"
)

// Hidden stands for a secret where settings are printed.
const Hidden = "***"

// maxSecret bounds a file that holds a secret, in bytes.
const maxSecret = 64 << 10

// secret is a text that may also be in a file.
type secret struct {
	value *string
	file  *string
	key   string
}

// Secret declares a text that is never printed, and KEY-file, the file it may be read
// from instead: containers and service managers hand over secrets that way, and
// whoever lists processes sees flags.
func (s *Set) Secret(p *string, key, usage string) {
	scalar(s, p, key, "string", usage, func(text string) (string, error) {
		if text == Hidden {
			return "", errors.New("this is what nova config prints instead of a secret; write the secret, or its file in " + key + "-file")
		}
		return text, nil
	}, itself).secret = true
	var file string
	s.Path(&file, key+"-file", "file that holds it instead")
	s.secrets = append(s.secrets, secret{p, &file, key})
}

// readSecrets reads the files of secrets. A secret and its file in one layer are a
// mistake; else the upper layer counts. A line break at the end of a file is not part
// of the secret.
func (s *Set) readSecrets() error {
	for _, secret := range s.secrets {
		value, file := s.byKey[secret.key], s.byKey[secret.key+"-file"]
		switch {
		case *secret.file == "" || *secret.value != "" && value.layer > file.layer:
			continue
		case *secret.value != "" && value.layer == file.layer:
			return fmt.Errorf("%s and %s are both given; keep one", value.Key, file.Key)
		}
		data, err := readBounded(*secret.file, maxSecret)
		if err != nil {
			return fmt.Errorf("%s: %w", file.Key, err)
		}
		data = bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r"))
		if len(data) == 0 {
			return fmt.Errorf("%s: %s is empty", file.Key, *secret.file)
		}
		value.give(file.layer, file.Key, string(data))
	}
	return nil
}

// hides reports whether the value is not for others to see.
func (t *Setting) hides() bool { return t.secret && t.node().Value != "" }
