// SHA-256 (FIPS 180-4). crypto.subtle is asynchronous and missing on plain
// http pages, and a topic's ref is needed before the next frame is read.

const START = /* #__PURE__ */ fractions(8, Math.sqrt);
const ROUNDS = /* #__PURE__ */ fractions(64, Math.cbrt);

/** First 8 bytes of SHA-256 of data, as a little-endian number. */
export function sha256Head(data: Uint8Array): bigint {
  const words = pad(data);
  const state = START.slice();
  for (let at = 0; at < words.byteLength; at += 64) block(state, words, at);
  const out = new DataView(new ArrayBuffer(8));
  out.setInt32(0, state[0]!);
  out.setInt32(4, state[1]!);
  return out.getBigUint64(0, true);
}

function pad(data: Uint8Array): DataView {
  const length = ((data.length + 8) >> 6 << 6) + 64;
  const bytes = new Uint8Array(length);
  bytes.set(data);
  bytes[data.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(length - 4, data.length * 8);
  return view;
}

function block(state: Int32Array, words: DataView, at: number): void {
  const w = new Int32Array(64);
  for (let i = 0; i < 16; i++) w[i] = words.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15]!, y = w[i - 2]!;
    const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
    const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
    w[i] = w[i - 16]! + s0 + w[i - 7]! + s1;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let i = 0; i < 64; i++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[i]! + w[i]!) | 0;
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  const sums = [a, b, c, d, e, f, g, h];
  for (let i = 0; i < 8; i++) state[i] = state[i]! + sums[i]!;
}

function rotate(x: number, n: number): number {
  return (x >>> n) | (x << (32 - n));
}

/** First 32 bits of the fractional parts of the roots of the first primes. */
function fractions(count: number, root: (n: number) => number): Int32Array {
  const out = new Int32Array(count);
  for (let n = 2, i = 0; i < count; n++) {
    if (prime(n)) out[i++] = Math.floor((root(n) % 1) * 0x100000000);
  }
  return out;
}

function prime(n: number): boolean {
  for (let d = 2; d * d <= n; d++) if (n % d === 0) return false;
  return true;
}
