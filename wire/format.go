package wire

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// ValidFormat reports whether s has a format of JSON Schema: date-time, date and
// time (RFC 3339), email (RFC 5321, without quoted names and address literals),
// uuid (RFC 9562), uri (RFC 3986), ipv4, ipv6 (RFC 4291). Every string has a
// format that is not known.
func ValidFormat(format, s string) bool {
	switch format {
	case "date-time":
		date, time, ok := cutDateTime(s)
		return ok && validDate(date) && validTime(time)
	case "date":
		return validDate(s)
	case "time":
		return validTime(s)
	case "email":
		return len(s) <= 320 && formats().email.MatchString(s)
	case "uuid":
		return formats().uuid.MatchString(s)
	case "uri":
		return formats().uri.MatchString(s)
	case "ipv4":
		return formats().ipv4.MatchString(s)
	case "ipv6":
		return formats().ipv6.MatchString(s)
	}
	return true
}

type formatPatterns struct{ date, time, email, uuid, uri, ipv4, ipv6 *regexp.Regexp }

// The pieces of the patterns; the TypeScript runtime has the same.
const (
	reByte     = `(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])`
	reIPv4     = `(?:` + reByte + `\.){3}` + reByte
	reGroup    = `[0-9a-f]{1,4}`
	reTail     = `(?:` + reGroup + `:` + reGroup + `|` + reIPv4 + `)`
	reAtom     = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
	reLabel    = `[a-z0-9](?:[a-z0-9-]*[a-z0-9])?`
	rePercent  = `%[0-9a-f]{2}`
	reChar     = `[a-z0-9._~!$&'()*+,;=:@-]|` + rePercent
	reSegments = `(?:/(?:` + reChar + `)*)*`
)

// reIPv6 writes out where :: may stand (RFC 3986, IPv6address).
func reIPv6() string {
	g := reGroup
	upTo := func(n string) string { return `(?:(?:` + g + `:){0,` + n + `}` + g + `)?` }
	return `(?:` + strings.Join([]string{
		`(?:` + g + `:){6}` + reTail,
		`::(?:` + g + `:){5}` + reTail,
		`(?:` + g + `)?::(?:` + g + `:){4}` + reTail,
		upTo("1") + `::(?:` + g + `:){3}` + reTail,
		upTo("2") + `::(?:` + g + `:){2}` + reTail,
		upTo("3") + `::` + g + `:` + reTail,
		upTo("4") + `::` + reTail,
		upTo("5") + `::` + g,
		upTo("6") + `::`,
	}, `|`) + `)`
}

var formats = sync.OnceValue(func() formatPatterns {
	whole := func(re string) *regexp.Regexp { return regexp.MustCompile(`^(?i:` + re + `)$`) }
	authority := `(?:(?:[a-z0-9._~!$&'()*+,;=:-]|` + rePercent + `)*@)?` +
		`(?:\[` + reIPv6() + `\]|\[v[0-9a-f]+\.[a-z0-9._~!$&'()*+,;=:-]+\]|(?:[a-z0-9._~!$&'()*+,;=-]|` + rePercent + `)*)(?::[0-9]*)?`
	path := `(?://` + authority + reSegments + `|/(?:(?:` + reChar + `)+` + reSegments + `)?|(?:` + reChar + `)+` + reSegments + `)?`
	return formatPatterns{
		date:  regexp.MustCompile(`^([0-9]{4})-([0-9]{2})-([0-9]{2})$`),
		time:  regexp.MustCompile(`^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[zZ]|([+-])([0-9]{2}):([0-9]{2}))$`),
		email: whole(reAtom + `(?:\.` + reAtom + `)*@(?:` + reLabel + `\.)+` + reLabel),
		uuid:  whole(`[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}`),
		uri:   whole(`[a-z][a-z0-9+.-]*:` + path + `(?:\?(?:` + reChar + `|[/?])*)?(?:#(?:` + reChar + `|[/?])*)?`),
		ipv4:  whole(reIPv4),
		ipv6:  whole(reIPv6()),
	}
})

func cutDateTime(s string) (date, time string, ok bool) {
	if len(s) < 11 || s[10] != 'T' && s[10] != 't' && s[10] != ' ' {
		return "", "", false
	}
	return s[:10], s[11:], true
}

func validDate(s string) bool {
	m := formats().date.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	year, month, day := number(m[1]), number(m[2]), number(m[3])
	days := [...]int{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		days[2] = 29
	}
	return month >= 1 && month <= 12 && day >= 1 && day <= days[month]
}

// validTime takes a leap second where one can be: at 23:59:60 UTC.
func validTime(s string) bool {
	m := formats().time.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	hour, minute, second := number(m[1]), number(m[2]), number(m[3])
	offHour, offMinute := number(m[5]), number(m[6])
	if offHour > 23 || offMinute > 59 || hour > 23 || minute > 59 {
		return false
	}
	if second < 60 {
		return true
	}
	at := hour*60 + minute
	if m[4] == "-" {
		at += offHour*60 + offMinute
	} else {
		at -= offHour*60 + offMinute
	}
	return second == 60 && (at+2*24*60)%(24*60) == 23*60+59
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // of digits, or empty
	return n
}
