package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Text declares a setting that is any text; *p is its default.
func (s *Set) Text(p *string, key, usage string) {
	scalar(s, p, key, "string", usage, func(text string) (string, error) { return text, nil }, itself)
}

// Path declares a setting that names a file or directory. In the config file it is
// relative to the directory of that file.
func (s *Set) Path(p *string, key, usage string) {
	scalar(s, p, key, "file", usage, func(text string) (string, error) { return text, nil }, itself).path = true
}

func itself(text string) string { return text }

// Int declares a whole number between least and most.
func (s *Set) Int(p *int, key string, least, most int, usage string) {
	scalar(s, p, key, "number", usage, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("write a whole number %s", between(strconv.Itoa(least), strconv.Itoa(most), most == math.MaxInt))
		}
		return n, nil
	}, strconv.Itoa)
}

func between(least, most string, open bool) string {
	if open {
		return "from " + least + " on"
	}
	return "between " + least + " and " + most
}

// Rate declares a number that need not be whole, from 0 to a thousand million.
func (s *Set) Rate(p *float64, key, usage string) {
	scalar(s, p, key, "number", usage, func(text string) (float64, error) {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !(n >= 0 && n <= 1e9) {
			return 0, errors.New("write a number between 0 and 1000000000")
		}
		return n, nil
	}, func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) })
}

// Bool declares a switch.
func (s *Set) Bool(p *bool, key, usage string) {
	scalar(s, p, key, "bool", usage, func(text string) (bool, error) {
		switch text {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return false, errors.New("write true or false")
	}, strconv.FormatBool)
}

// Duration declares a time between least and most.
func (s *Set) Duration(p *time.Duration, key string, least, most time.Duration, usage string) {
	scalar(s, p, key, "duration", usage, func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		switch {
		case err != nil:
			return 0, errors.New("write a time with its unit, such as 500ms, 30s, 5m or 12h")
		case d < least || d > most:
			return 0, fmt.Errorf("write a time between %s and %s", showDuration(least), showDuration(most))
		}
		return d, nil
	}, showDuration)
}

// showDuration writes a time without units that are zero: 1m, not 1m0s.
func showDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// unit of sizes.
type unit struct {
	name  string
	bytes int64
}

// units are those that are read, largest first; those of 1000 are never written.
var units = []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}}

// Size declares a number of bytes, of at least least.
func Size[T int | int64](s *Set, p *T, key string, least, most T, usage string) {
	scalar(s, p, key, "size", usage, func(text string) (T, error) {
		n, err := parseSize(text)
		switch {
		case err != nil:
			return 0, err
		case n < int64(least) || n > int64(most):
			return 0, fmt.Errorf("write a size between %s and %s", showSize(int64(least)), showSize(int64(most)))
		}
		return T(n), nil
	}, func(n T) string { return showSize(int64(n)) })
}

func parseSize(text string) (int64, error) {
	wrong := errors.New("write a number of bytes, such as 65536, 64KiB or 1GiB")
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	suffix, factor := text[len(digits):], int64(1)
	if suffix != "" {
		i := slices.IndexFunc(units, func(u unit) bool { return strings.EqualFold(u.name, suffix) })
		if i < 0 {
			return 0, wrong
		}
		factor = units[i].bytes
	}
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/factor {
		return 0, wrong
	}
	return n * factor, nil
}

func showSize(n int64) string {
	for _, u := range units[:3] {
		if n > 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Choice declares a setting that is one of some words; the value is the index of the
// word.
func Choice[T ~int | ~uint8](s *Set, p *T, key, usage string, words ...string) {
	scalar(s, p, key, strings.Join(words, "|"), usage, func(text string) (T, error) {
		if i := slices.Index(words, text); i >= 0 {
			return T(i), nil
		}
		return 0, fmt.Errorf("write %s", oneOf(words))
	}, func(v T) string { return words[v] })
}

func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// List declares a setting that is several texts: a sequence in the file, separated by
// commas elsewhere; the flag may also be repeated.
func (s *Set) List(p *[]string, key, usage string) {
	split := func(text string) (any, error) {
		var list []string
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part == "" {
				return nil, errors.New("an entry is empty; write texts with commas between them")
			}
			list = append(list, part)
		}
		return list, nil
	}
	s.declare(&Setting{
		Key: key, Usage: usage, kind: "list", parse: split,
		decode: func(node *yaml.Node) (any, error) {
			if node.Kind != yaml.SequenceNode {
				return parseScalar(node, split)
			}
			list := []string{}
			for _, item := range node.Content {
				text, err := parseScalar(item, func(text string) (any, error) { return text, nil })
				if err != nil {
					return nil, err
				}
				list = append(list, text.(string))
			}
			return list, nil
		},
		assign: func(given []any) {
			*p = nil
			for _, list := range given {
				*p = append(*p, list.([]string)...)
			}
		},
		node: func() *yaml.Node { return listNode(*p) },
	})
}
