// Strings are raw UTF-8. Most are short ASCII: those are copied by hand, since
// a call into TextEncoder or TextDecoder costs more than the copy.

const encoder = /* #__PURE__ */ new TextEncoder();
const decoder = /* #__PURE__ */ new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The bytes of a string. */
export function utf8(s: string): Uint8Array {
  return encoder.encode(s);
}

/** Strings longer than this (UTF-16 units, bytes) go to the platform's codec. */
const BY_HAND = 48;

/**
 * Writes s as UTF-8 at `at`, where 3 × s.length bytes are free. Each lone
 * surrogate becomes U+FFFD. Returns the index after the last byte.
 */
export function putText(buf: Uint8Array, at: number, s: string): number {
  const n = s.length;
  if (n > BY_HAND) return at + encoder.encodeInto(s, buf.subarray(at)).written;
  for (let i = 0; i < n; i++) {
    const c = s.charCodeAt(i);
    if (c > 0x7f) return at + i + encoder.encodeInto(s.slice(i), buf.subarray(at + i)).written;
    buf[at + i] = c;
  }
  return at + n;
}

/**
 * Reads n bytes of UTF-8; undefined when they are not valid. NUL and a leading
 * BOM are kept.
 */
export function getText(view: DataView, at: number, n: number): string | undefined {
  if (n <= BY_HAND) {
    const s = ascii(view, at, at + n);
    if (s !== undefined) return s;
  }
  try {
    return decoder.decode(new Uint8Array(view.buffer, view.byteOffset + at, n));
  } catch {
    return undefined;
  }
}

const chr = String.fromCharCode;

/** The bytes as a string when all are ASCII, else undefined. */
function ascii(view: DataView, at: number, end: number): string | undefined {
  let s = "";
  let i = at;
  for (; i + 4 <= end; i += 4) {
    const four = view.getUint32(i, true);
    if (four & 0x80808080) return undefined;
    s += chr(four & 0x7f, (four >> 8) & 0x7f, (four >> 16) & 0x7f, four >> 24);
  }
  for (; i < end; i++) {
    const one = view.getUint8(i);
    if (one > 0x7f) return undefined;
    s += chr(one);
  }
  return s;
}
