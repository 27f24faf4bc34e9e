// A reader gives a value or a DecodeError, quickly, whatever the bytes are.
import { describe, expect, test } from "vitest";
import { DecodeError, FrameError, Reader, Writer, defineTable, parseHeader, readBytes, writeBytes } from "@ignex/nova-client/wire";
import type { EventDescriptor, Table } from "@ignex/nova-client/wire";
import * as market from "./fixtures/market.js";
import { aPortfolio, aQuote, aTrade, fullMixed } from "./fixtures/values.js";

const writer = new Writer();
const reader = new Reader(() => {});
const frames: [string, EventDescriptor<any>, Uint8Array][] = [
  ["quote", market.quote, writer.frame(market.quote.id, market.quote.table, aQuote)],
  ["trade", market.trade, writer.frame(market.trade.id, market.trade.table, aTrade)],
  ["portfolio", market.portfolio, writer.frame(market.portfolio.id, market.portfolio.table, aPortfolio)],
  ["mixed", market.mixed, writer.frame(market.mixed.id, market.mixed.table, fullMixed)],
];

/** Decodes a frame; undefined when it is refused as it should be. */
function read<T>(table: Table<T>, frame: Uint8Array): T | undefined {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  try {
    const h = parseHeader(view);
    return reader.payload(view, h.start, h.end, table);
  } catch (e) {
    if (e instanceof DecodeError || e instanceof FrameError) return undefined;
    throw e;
  }
}

const payload = <T>(table: Table<T>, b: Uint8Array): T => new Reader().payload(new DataView(b.buffer, b.byteOffset, b.length), 0, b.length, table);

test.each(frames)("every truncation of %s", (_, event, frame) => {
  for (let n = 0; n < frame.length; n++) {
    expect(read(event.table, frame.slice(0, n))).toBeUndefined();
    // With the prefix corrected, so that the reader itself meets the end. The buffer
    // goes on behind the frame: nothing there may be read.
    if (n < 18) continue;
    const cut = new Uint8Array(frame.length + 64).fill(0x41);
    cut.set(frame.subarray(0, n));
    const view = new DataView(cut.buffer, 0, n);
    view.setUint32(14, n - 18, true);
    read(event.table, cut.subarray(0, n));
  }
});

test.each(frames)("every single-byte change of %s", (_, event, frame) => {
  const copy = frame.slice();
  for (let i = 0; i < frame.length; i++) {
    for (let x = 1; x < 256; x++) {
      copy[i] = frame[i]! ^ x;
      read(event.table, copy);
    }
    copy[i] = frame[i]!;
  }
  expect(read(event.table, copy)).toBeDefined();
});

test("random words in every place", () => {
  const words = [0, 1, 2, 3, 4, 0x7f, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff];
  for (const [, event, frame] of frames) {
    const copy = frame.slice();
    const view = new DataView(copy.buffer);
    for (let i = 18; i + 4 <= frame.length; i++) {
      for (const word of words) {
        view.setUint32(i, word, true);
        read(event.table, copy);
      }
      copy.set(frame.subarray(i, i + 4), i);
    }
  }
});

interface Node { next?: Node | undefined; nodes: Node[]; text: string[]; data: Uint8Array }
const $Node: Table<Node> = defineTable<Node>({
  name: "Node", align: 4, inline: 20, offsets: [4, 8, 12, 16], absent: true,
  encode(w, t, v) {
    if (v.next == null) w.absent(t, $Node, 0);
    else w.struct(t + 4, v.next, $Node, "next");
    w.structs(t + 8, v.nodes, $Node, "nodes");
    w.strings(t + 12, v.text, "text");
    writeBytes(w, t + 16, v.data, "data");
  },
  decode: (r) => ({
    next: r.has(0) ? r.struct(0, $Node, "next") : undefined,
    nodes: r.structs(1, $Node, "nodes"),
    text: r.strings(2, "text"),
    data: readBytes(r, 3, "data"),
  }),
});
const leaf = (): Node => ({ nodes: [], text: [], data: new Uint8Array(0) });

describe("one table after another", () => {
  const chain = (n: number): Node => (n === 1 ? leaf() : { ...leaf(), next: chain(n - 1) });

  test("64 tables deep is fine, 65 is refused by both sides", () => {
    expect(payload($Node, writer.payload($Node, chain(64)))).toEqual(chain(64));
    expect(() => writer.payload($Node, chain(65))).toThrow("tables are nested deeper than 64");
    // 65 on the wire: a root put in front of 64.
    const inner = writer.payload($Node, chain(64)).subarray(8);
    const b = new Uint8Array(8 + 6 + 2 + 8 + inner.length);
    const view = new DataView(b.buffer);
    view.setUint32(0, b.length - 4, true);
    view.setUint32(4, 12, true); // root at 16
    [6, 8, 4].forEach((word, i) => view.setUint16(10 + 2 * i, word, true));
    view.setInt32(16, 6, true);
    view.setUint32(20, 4 + new DataView(inner.buffer, inner.byteOffset).getUint16(0, true), true);
    b.set(inner, 24);
    expect(() => payload($Node, b)).toThrow("tables are nested deeper than 64");
  });

  test("a cycle of objects is refused", () => {
    const v = leaf();
    v.next = v;
    expect(() => writer.payload($Node, v)).toThrow("tables are nested deeper than 64");
    const w = leaf();
    w.nodes.push(w);
    expect(() => writer.payload($Node, w)).toThrow("tables are nested deeper than 64");
  });
});

/** 32-bit words as a size-prefixed buffer; a pair gives two 16-bit halves. */
function words(...list: (number | [number, number])[]): Uint8Array {
  const b = new Uint8Array(4 * list.length);
  const view = new DataView(b.buffer);
  list.forEach((word, i) => {
    if (typeof word === "number") return view.setUint32(4 * i, word >>> 0, true);
    view.setUint16(4 * i, word[0], true);
    view.setUint16(4 * i + 2, word[1], true);
  });
  view.setUint32(0, b.length - 4, true);
  return b;
}

describe("wild values", () => {
  // vtable (4 fields) at 8, table at 20, its slots at 24 28 32 36.
  const node = (next: number, nodes: number, text: number, data: number, ...rest: (number | [number, number])[]) =>
    words(0, 16, [12, 20], [next && 4, nodes && 8], [text && 12, data && 16], 12, next, nodes, text, data, ...rest);

  test.each<[string, Uint8Array, string]>([
    ["nothing", new Uint8Array(0), "the size prefix is wrong"],
    ["zeros", new Uint8Array(32), "the size prefix is wrong"],
    ["root offset 0", words(0, 0, 0, 0), "an offset or length points outside the buffer"],
    ["root offset outside", words(0, 1000, 0, 0), "an offset or length points outside the buffer"],
    ["root offset negative", words(0, -4, 0, 0), "an offset or length points outside the buffer"],
    ["vtable before the buffer", words(0, 4, 100, 0), "an offset or length points outside the buffer"],
    ["vtable behind the buffer", words(0, 4, -100, 0), "an offset or length points outside the buffer"],
    ["vtable size odd", words(0, 8, [5, 4], 4, 0), "the vtable has a wrong size"],
    ["vtable size too big", words(0, 8, [60000, 4], 4, 0), "the vtable has a wrong size"],
    ["vtable size 2", words(0, 8, [2, 4], 4, 0), "the vtable has a wrong size"],
    ["field outside", words(0, 12, [8, 4], [0, 60000], 8, 0), "nodes: an offset or length points outside the buffer"],
    ["backward reference (cycle)", node(-8, 0, 0, 0), "next: an offset or length points outside the buffer"],
    ["vector of 2^31−1 tables", node(0, 12, 0, 0, 0x7fffffff), "nodes: an offset or length points outside the buffer"],
    ["vector of 2^32−1 strings", node(0, 0, 8, 0, 0xffffffff), "text: an offset or length points outside the buffer"],
    ["bytes of 2^31−1", node(0, 0, 0, 4, 0x7fffffff), "data: an offset or length points outside the buffer"],
    ["string of 2^30", node(0, 0, 8, 0, 1, 4, 1 << 30), "text[0]: an offset or length points outside the buffer"],
    ["string without NUL", node(0, 0, 8, 0, 1, 4, 3, 0x41414141), "text[0]: a string does not end with NUL"],
    ["element outside", node(0, 12, 0, 0, 1, 1000), "nodes[0]: an offset or length points outside the buffer"],
  ])("%s", (_, b, message) => {
    expect(() => payload($Node, b)).toThrow(new RegExp(`^malformed payload: ${message.replace(/[[\]]/g, "\\$&")}$`));
  });

  test("tables shared by 2^n references stop at the budget", () => {
    // Each level holds a vector of two references to the next level.
    const levels = 40, size = 32;
    const b = new Uint8Array(8 + 12 + levels * size);
    const view = new DataView(b.buffer);
    view.setUint32(0, b.length - 4, true);
    view.setUint32(4, 16, true);
    [12, 20, 0, 8, 0, 0].forEach((word, i) => view.setUint16(8 + 2 * i, word, true));
    for (let i = 0; i < levels; i++) {
      const t = 20 + i * size, last = i === levels - 1;
      view.setInt32(t, t - 8, true); // the shared vtable
      view.setUint32(t + 8, 4, true); // nodes at t + 12
      view.setUint32(t + 12, last ? 0 : 2, true);
      if (!last) {
        view.setUint32(t + 16, t + size - (t + 16), true);
        view.setUint32(t + 20, t + size - (t + 20), true);
      }
    }
    const from = performance.now();
    expect(() => payload($Node, b)).toThrow("the value is far larger than its buffer");
    expect(performance.now() - from).toBeLessThan(1000);
  });

  test("a string shared by many references stops at the budget", () => {
    const n = 5000, long = 20_000;
    const b = new Uint8Array(40 + 4 + 4 * n + 4 + long + 1);
    b.set(node(0, 0, 8, 0));
    const view = new DataView(b.buffer);
    view.setUint32(0, b.length - 4, true);
    view.setUint32(40, n, true);
    const at = 44 + 4 * n;
    for (let i = 0; i < n; i++) view.setUint32(44 + 4 * i, at - (44 + 4 * i), true);
    view.setUint32(at, long, true);
    expect(() => payload($Node, b)).toThrow(/^malformed payload: text\[\d+\]: the value is far larger than its buffer$/);
  });
});

test("bytes are copies", () => {
  const b = writer.payload($Node, { ...leaf(), data: Uint8Array.of(1, 2, 3) }).slice();
  const v = payload($Node, b);
  b.fill(0xff);
  expect(v.data).toEqual(Uint8Array.of(1, 2, 3));
  expect(v.data.buffer.byteLength).toBe(3);
});
