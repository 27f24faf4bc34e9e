package config

import (
	"maps"
	"slices"
)

// nearest returns the key that was probably meant, "" when none is near.
func (s *Set) nearest(key string) string {
	best, least := "", 1+len(key)/3
	known := slices.Sorted(maps.Keys(s.sections))
	for _, setting := range s.settings {
		known = append(known, setting.Key)
	}
	for _, name := range known {
		if d := distance(flagName(key), flagName(name)); d < least || d == least && best == "" {
			best, least = name, d
		}
	}
	if best != "" {
		return best
	}
	for _, setting := range s.settings { // the last part alone: issuer for jwt.issuer
		for i := range setting.Key {
			if setting.Key[i] == '.' && setting.Key[i+1:] == key {
				return setting.Key
			}
		}
	}
	return ""
}

// distance is the number of letters to put in, take away, change or swap with the
// next.
func distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return 100
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
		for j := range rows[i] {
			if i == 0 {
				rows[i][j] = j
				continue
			}
			if j == 0 {
				continue
			}
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
