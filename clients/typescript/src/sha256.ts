// SHA-256 (FIPS 180-4). crypto.subtle is asynchronous and missing on plain
// http pages, and a topic's ref is needed before the next frame is read.

const ROUNDS = /* #__PURE__ */ fractions(64, 1 / 3);
const START = /* #__PURE__ */ fractions(8, 1 / 2);

/** First 8 bytes of SHA-256 of data, as a little-endian number. */
export function sha256Head(data: Uint8Array): bigint {
  const length = (data.length + 72) & -64;
  const bytes = new Uint8Array(length);
  bytes.set([...data, 0x80]);
  const view = new DataView(bytes.buffer);
  view.setUint32(length - 4, data.length * 8);
  let state = START;
  for (let at = 0; at < length; at += 64) {
    const before = state;
    state = [...before]; // grows to the front, the newest eight count
    const w: number[] = [];
    for (let i = 0; i < 64; i++) {
      w[i] = i < 16
        ? view.getInt32(at + 4 * i)
        : (w[i - 16]! + mix(w[i - 15]!, 7, 18, 3, true) + w[i - 7]! + mix(w[i - 2]!, 17, 19, 10, true)) | 0;
      const [a, b, c, d, e, f, g, h] = state as [number, number, number, number, number, number, number, number];
      const t = h + mix(e, 6, 11, 25) + (g ^ (e & (f ^ g))) + ROUNDS[i]! + w[i]!;
      state.unshift((t + mix(a, 2, 13, 22) + ((a & b) | (c & (a | b)))) | 0);
      state[4] = (d + t) | 0;
    }
    state = before.map((x, i) => (x + state[i]!) | 0);
  }
  view.setInt32(0, state[0]!);
  view.setInt32(4, state[1]!);
  return view.getBigUint64(0, true);
}

/** x rotated by p, q and r, the last only shifted on demand. */
function mix(x: number, p: number, q: number, r: number, shift = false): number {
  const rotate = (n: number) => (x >>> n) | (x << (32 - n));
  return rotate(p) ^ rotate(q) ^ (shift ? x >>> r : rotate(r));
}

/** First 32 bits of the fractional parts of the roots of the first primes. */
function fractions(count: number, power: number): number[] {
  const out: number[] = [];
  for (let n = 2; out.length < count; n++) {
    let d = 2;
    while (n % d) d++;
    if (d === n) out.push((n ** power * 0x100000000) | 0);
  }
  return out;
}
