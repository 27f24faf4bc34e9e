// The formats of JSON Schema that validators check: date-time, date and time
// (RFC 3339), email (RFC 5321, without quoted names and address literals), uuid
// (RFC 9562), uri (RFC 3986), ipv4, ipv6 (RFC 4291). The Go runtime has the same.

const BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const IPV4 = `(?:${BYTE}\\.){3}${BYTE}`;
const GROUP = "[0-9a-f]{1,4}";
const TAIL = `(?:${GROUP}:${GROUP}|${IPV4})`;
const ATOM = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+";
const LABEL = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?";
const PERCENT = "%[0-9a-f]{2}";
const CHAR = `[a-z0-9._~!$&'()*+,;=:@-]|${PERCENT}`;
const SEGMENTS = `(?:/(?:${CHAR})*)*`;
const upTo = (n: number) => `(?:(?:${GROUP}:){0,${n}}${GROUP})?`;
const whole = (re: string) => new RegExp(`^(?:${re})$`, "i");

// RFC 3986, IPv6address: where :: may stand.
const ipv6 = () => `(?:${[
  `(?:${GROUP}:){6}${TAIL}`, `::(?:${GROUP}:){5}${TAIL}`, `(?:${GROUP})?::(?:${GROUP}:){4}${TAIL}`,
  `${upTo(1)}::(?:${GROUP}:){3}${TAIL}`, `${upTo(2)}::(?:${GROUP}:){2}${TAIL}`, `${upTo(3)}::${GROUP}:${TAIL}`,
  `${upTo(4)}::${TAIL}`, `${upTo(5)}::${GROUP}`, `${upTo(6)}::`].join("|")})`;

const uri = () => {
  const host = `(?:\\[${ipv6()}\\]|\\[v[0-9a-f]+\\.[a-z0-9._~!$&'()*+,;=:-]+\\]|(?:[a-z0-9._~!$&'()*+,;=-]|${PERCENT})*)`;
  const authority = `(?:(?:[a-z0-9._~!$&'()*+,;=:-]|${PERCENT})*@)?${host}(?::[0-9]*)?`;
  const path = `(?://${authority}${SEGMENTS}|/(?:(?:${CHAR})+${SEGMENTS})?|(?:${CHAR})+${SEGMENTS})?`;
  return `[a-z][a-z0-9+.-]*:${path}(?:\\?(?:${CHAR}|[/?])*)?(?:#(?:${CHAR}|[/?])*)?`;
};

const EMAIL = /* #__PURE__ */ whole(`${ATOM}(?:\\.${ATOM})*@(?:${LABEL}\\.)+${LABEL}`);
const UUID = /* #__PURE__ */ whole("[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}");
const URI = /* #__PURE__ */ whole(/* #__PURE__ */ uri());
const IP4 = /* #__PURE__ */ whole(IPV4);
const IP6 = /* #__PURE__ */ whole(/* #__PURE__ */ ipv6());

export const isEmail = (s: string): boolean => s.length <= 320 && EMAIL.test(s);
export const isUUID = (s: string): boolean => UUID.test(s);
export const isURI = (s: string): boolean => URI.test(s);
export const isIPv4 = (s: string): boolean => IP4.test(s);
export const isIPv6 = (s: string): boolean => IP6.test(s);

export function isDate(s: string): boolean {
  const m = /^(\d{4})-(\d\d)-(\d\d)$/.exec(s);
  if (!m) return false;
  const year = Number(m[1]), month = Number(m[2]), day = Number(m[3]);
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  return days !== undefined && day >= 1 && day <= days;
}

/** A leap second is taken where one can be: at 23:59:60 UTC. */
export function isTime(s: string): boolean {
  const m = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i.exec(s);
  if (!m) return false;
  const hour = Number(m[1]), minute = Number(m[2]), second = Number(m[3]);
  const offHour = Number(m[5] ?? 0), offMinute = Number(m[6] ?? 0);
  if (offHour > 23 || offMinute > 59 || hour > 23 || minute > 59) return false;
  if (second < 60) return true;
  const at = hour * 60 + minute + (m[4] === "-" ? 1 : -1) * (offHour * 60 + offMinute);
  return second === 60 && (at + 2880) % 1440 === 1439;
}

export function isDateTime(s: string): boolean {
  return /^[Tt ]$/.test(s.charAt(10)) && isDate(s.slice(0, 10)) && isTime(s.slice(11));
}
