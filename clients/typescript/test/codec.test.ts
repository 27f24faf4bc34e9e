import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { DecodeError, EncodeError, Reader, Writer, parseHeader } from "@ignex/nova-client/wire";
import type { EventDescriptor, Table } from "@ignex/nova-client/wire";
import * as control from "../src/control/index.js";
import { loadFlatc, fromRoot } from "./flatc.js";
import * as market from "./fixtures/market.js";
import type { Mixed, PortfolioSnapshot, Quote, Side } from "./fixtures/market.js";
import { aPortfolio, aQuote, aTrade, emptyMixed, fullMixed } from "./fixtures/values.js";

const writer = new Writer();
const viewOf = (b: Uint8Array) => new DataView(b.buffer, b.byteOffset, b.byteLength);
const encode = <T>(table: Table<T>, v: T) => writer.payload(table, v);
const decode = <T>(table: Table<T>, b: Uint8Array): T => new Reader().payload(viewOf(b), 0, b.length, table);

function unhex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g) ?? [], (x) => parseInt(x, 16));
}

describe("round trip", () => {
  test.each<[string, EventDescriptor<any>, unknown]>([
    ["quote", market.quote, aQuote],
    ["trade", market.trade, aTrade],
    ["portfolio", market.portfolio, aPortfolio],
    ["mixed, everything present", market.mixed, fullMixed],
    ["mixed, everything absent", market.mixed, emptyMixed],
  ])("%s", (_, event, value) => {
    const frame = writer.frame(event.id, event.table, value);
    const view = viewOf(frame);
    const h = parseHeader(view);
    expect(h.id).toBe(event.id);
    expect(new Reader().payload(view, h.start, h.end, event.table)).toEqual(value);
  });

  test("a frame is not written again", () => {
    const first = encode(market.quote.table, aQuote);
    const copy = first.slice();
    for (let i = 0; i < 1000; i++) encode(market.quote.table, { ...aQuote, symbol: `other ${i}` });
    expect(first).toEqual(copy);
  });

  test("values larger than a chunk", () => {
    const v = { ...fullMixed, names: Array.from({ length: 2000 }, (_, i) => "é".repeat(i % 70)), blob: new Uint8Array(70_000).fill(7) };
    expect(decode(market.mixed.table, encode(market.mixed.table, v))).toEqual(v);
    expect(decode(market.quote.table, encode(market.quote.table, aQuote))).toEqual(aQuote);
  });
});

describe("the canonical layout", () => {
  // Computed by hand from docs/protocol.md, "How our encoders place things".
  test("quote", () => {
    const b = encode(market.quote.table, { symbol: "AAPL", bid: 1.5, ask: -0, bidSize: -1, askSize: 2 ** 53 - 1, ts: 5 });
    expect(b).toEqual(unhex([
      "4d000000", "14000000", // size prefix 81 − 4, root 4 → 24
      "1000", "3000", "0400", "0800", "1000", "1800", "2000", "2800", // vtable at 8
      "10000000", "2c000000", // table at 24, symbol 28 → 72
      "000000000000f83f", "0000000000000080", "ffffffffffffffff", "ffffffffffff1f00", "0500000000000000",
      "04000000", "4141504c", "00",
    ].join("")));
  });

  test("a vector of tables that cannot vary shares one vtable; absent fields are zero", () => {
    const b = encode(market.portfolio.table, {
      accountId: "a", positions: [{ symbol: "", quantity: 1, avgPrice: 0, pnl: 0 }, { symbol: "x", quantity: 2, avgPrice: 0, pnl: 0 }],
      totalValue: 0, cash: 0, ts: 3,
    });
    expect(b).toEqual(unhex([
      "aa000000", "14000000",
      "1000", "2800", "0400", "2000", "0800", "1000", "1800", "0000", // updatedBy absent
      "10000000", "24000000", "0000000000000000", "0000000000000000", "0300000000000000", "10000000", "00000000", // table at 24
      "01000000", "61", "00", "0000", // accountId at 64
      "02000000", "14000000", "38000000", // positions at 72
      "0c00", "2000", "0400", "0800", "1000", "1800", // their vtable at 84
      "0c000000", "1c000000", "0100000000000000", "0000000000000000", "0000000000000000", // element at 96
      "00000000", "00", "000000", // its symbol at 128
      "34000000", "1c000000", "0200000000000000", "0000000000000000", "0000000000000000", // element at 136
      "01000000", "78", "00", // its symbol at 168
    ].join("")));
  });
});

describe("strings", () => {
  test.each([
    ["lone high surrogate", "a\ud800b", "a\ufffdb"],
    ["lone low surrogate", "\udc00", "\ufffd"],
    ["reversed pair", "\udc00\ud800", "\ufffd\ufffd"],
    ["pair", "\ud834\udd1e", "\ud834\udd1e"],
    ["leading BOM and NUL", "\ufeff\u0000x", "\ufeff\u0000x"],
    ["long with a lone surrogate", `${"x".repeat(100)}\ud800`, `${"x".repeat(100)}\ufffd`],
  ])("%s", (_, given, want) => {
    expect(decode(market.quote.table, encode(market.quote.table, { ...aQuote, symbol: given })).symbol).toBe(want);
  });

  test("bad UTF-8 is an error that names the path", () => {
    const b = encode(market.portfolio.table, aPortfolio);
    const at = b.findIndex((_, i) => b[i] === 0xc3 && b[i + 1] === 0x84);
    b[at] = 0xff;
    expect(() => decode(market.portfolio.table, b)).toThrow(new DecodeError("positions[1].symbol", "a string is not valid UTF-8"));
  });
});

describe("encode refuses", () => {
  const p = (change: Record<string, unknown>) => ({ ...fullMixed, ...change }) as Mixed;
  test.each<[string, Mixed, string]>([
    ["a fraction", p({ count: 1.5 }), "count: 1.5 is not an integer"],
    ["an unsafe integer", p({ counts: [0, 2 ** 53] }), "counts[1]: 9007199254740992 is beyond 2^53; declare the field as bigint"],
    ["NaN as an integer", p({ count: NaN }), "count: NaN is not an integer"],
    ["a bigint beyond 64 bits", p({ bigs: [2n ** 63n] }), "bigs[0]: 9223372036854775808 does not fit into 64 bits"],
    ["a number for a bigint", p({ big: 1 }), "big: expected a bigint, got 1"],
    ["a missing string", p({ id: undefined }), "id: expected a string, got undefined"],
    ["a wrong literal", p({ side: "hold" }), 'side: "hold" is not a literal of Side'],
    ["a wrong literal in a vector", p({ sides: ["buy", "unknown:2147483648"] }), 'sides[1]: "unknown:2147483648" is not a literal of Side'],
    ["a missing object", p({ customer: undefined }), "customer: expected an object (Customer), got undefined"],
    ["a wrong element", p({ customers: [fullMixed.customer, null] }), "customers[1]: expected an object (Customer), got null"],
    ["a wrong field of an element", p({ customers: [{ ...fullMixed.customer, vip: 1 }] }), "customers[0].vip: expected a boolean, got 1"],
    ["no array", p({ names: "x" }), 'names: expected an array, got "x"'],
    ["no Uint8Array", p({ blob: [1] }), "blob: expected a Uint8Array, got an array"],
  ])("%s", (_, value, message) => {
    expect(() => encode(market.mixed.table, value)).toThrow(message);
    expect(() => encode(market.mixed.table, value)).toThrow(EncodeError);
    expect(decode(market.mixed.table, encode(market.mixed.table, emptyMixed))).toEqual(emptyMixed);
  });
});

describe("numbers and literals of other schemas", () => {
  test("unknown enum numbers survive", () => {
    const b = encode(market.trade.table, { ...aTrade, side: "unknown:-7" as Side });
    const v = decode(market.trade.table, b);
    expect(v.side).toBe("unknown:-7");
    expect(encode(market.trade.table, v)).toEqual(b);
  });

  test("an unsafe int64 warns with its path, or is an error", () => {
    const b = encode(market.portfolio.table, { ...aPortfolio });
    const at = b.findIndex((_, i) => viewOf(b).getUint16(i, true) === 0x0a && i > 100); // quantity 10 of positions[0]
    viewOf(b).setBigInt64(at, 2n ** 60n + 1n, true);
    expect(() => decode(market.portfolio.table, b)).toThrow("positions[0].quantity: the integer is beyond 2^53");
    const paths: string[] = [];
    const v = new Reader((path) => paths.push(path)).payload(viewOf(b), 0, b.length, market.portfolio.table);
    expect(paths).toEqual(["positions[0].quantity"]);
    expect(v.positions[0]!.quantity).toBe(Number(2n ** 60n + 1n));
  });

  test.each([2 ** 53 - 1, -(2 ** 53 - 1), 2 ** 32, -(2 ** 32), 2 ** 31, -1, 0, -4294967297])("int64 %d", (n) => {
    const b = encode(market.quote.table, { ...aQuote, ts: n });
    expect(viewOf(b).getBigInt64(24 + 40, true)).toBe(BigInt(n));
    expect(decode(market.quote.table, b).ts).toBe(n);
  });
});

describe("frames of another implementation", () => {
  const tables = new Map<string, Table<any>>([
    ...control.schema.events.map((e): [string, Table<any>] => [`control ${e.name}`, e.table]),
    ...market.schema.events.map((e): [string, Table<any>] => [`market ${e.name}`, e.table]),
  ]);
  const vectors = JSON.parse(fromRoot("conformance/frames.json")) as { name: string; schema: string; event: string; frame: string; value: any }[];
  test.each(vectors)("$name", ({ schema, event, frame, value }) => {
    const table = tables.get(`${schema} ${event}`)!;
    const view = viewOf(unhex(frame));
    const h = parseHeader(view);
    const got = new Reader().payload(view, h.start, h.end, table);
    expect(JSON.parse(JSON.stringify(got, (_, v) => (typeof v === "bigint" ? String(v) : v)))).toEqual(value);
  });
});

describe("against npm flatbuffers", () => {
  let lib: any;
  beforeAll(async () => {
    lib = await loadFlatc();
  });

  const double = fc.double();
  // Their builder drops −0 like 0.
  const noMinus = double.map((x) => (x === 0 ? 0 : x));
  const int = fc.maxSafeInteger();
  const text = fc.string({ unit: "binary", maxLength: 60 });
  const side = fc.constantFrom<Side>("buy", "sell");
  const opt = <T>(arb: fc.Arbitrary<T>) => fc.option(arb, { nil: undefined });
  const nul = <T>(arb: fc.Arbitrary<T>) => fc.option(arb, { nil: null });
  const list = <T>(arb: fc.Arbitrary<T>) => fc.array(arb, { maxLength: 9 });
  const big = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const bytes = fc.uint8Array({ maxLength: 40 });
  const customer = fc.record({ id: text, vip: fc.boolean(), nick: nul(text) });
  const quotes: fc.Arbitrary<Quote> = fc.record({ symbol: text, bid: double, ask: double, bidSize: int, askSize: int, ts: int });
  const portfolios: fc.Arbitrary<PortfolioSnapshot> = fc.record({
    accountId: text, positions: list(fc.record({ symbol: text, quantity: int, avgPrice: noMinus, pnl: noMinus })),
    totalValue: noMinus, cash: noMinus, ts: int, updatedBy: opt(text),
  });
  const mixeds: fc.Arbitrary<Mixed> = fc.record({
    id: text, customer, billing: opt(customer), shipping: nul(customer), note: opt(text), level: nul(side), side,
    count: opt(int), ratio: nul(double), ok: opt(fc.boolean()), blob: bytes, extra: opt(bytes), big, bigs: list(big),
    sides: list(side), counts: list(int), flags: list(fc.boolean()), names: list(text), prices: opt(list(double)),
    customers: nul(list(customer)), active: fc.boolean(),
  });

  // Values as flatc's object API holds them, and back.
  const toCustomer = (c: any) => (c == null ? null : new lib.CustomerT(c.id, c.vip, c.nick));
  const fromCustomer = (c: any) => ({ id: c.id, vip: c.vip, nick: c.nick });
  const sides = ["buy", "sell"] as const;
  const toQuote = (v: Quote) => new lib.QuoteT(v.symbol, v.bid, v.ask, BigInt(v.bidSize), BigInt(v.askSize), BigInt(v.ts));
  const toPortfolio = (v: PortfolioSnapshot) => new lib.PortfolioSnapshotT(
    v.accountId, v.positions.map((p) => new lib.PortfolioPositionT(p.symbol, BigInt(p.quantity), p.avgPrice, p.pnl)),
    v.totalValue, v.cash, BigInt(v.ts), v.updatedBy ?? null);
  const plain = (v: any) => (v === undefined ? null : v);
  const fromQuote = (q: any): Quote => ({
    symbol: q.symbol(), bid: q.bid(), ask: q.ask(), bidSize: Number(q.bidSize()), askSize: Number(q.askSize()), ts: Number(q.ts()),
  });
  const indexes = (n: number) => Array.from({ length: n }, (_, i) => i);
  const customerOf = (c: any) => fromCustomer({ id: c.id(), vip: c.vip(), nick: c.nick() });
  const fromMixed = (m: any): Mixed => ({
    id: m.id(), customer: customerOf(m.customer()), billing: m.billing() ? customerOf(m.billing()) : undefined,
    shipping: m.shipping() ? customerOf(m.shipping()) : null, note: m.note() ?? undefined,
    level: m.level() === null ? null : sides[m.level() as 0 | 1]!, side: sides[m.side() as 0 | 1]!,
    count: m.count() === null ? undefined : Number(m.count()), ratio: m.ratio(), ok: m.ok() ?? undefined,
    blob: m.blobArray() ?? new Uint8Array(0), extra: m.extraArray() ?? undefined, big: m.big(),
    bigs: indexes(m.bigsLength()).map((i) => m.bigs(i)), sides: indexes(m.sidesLength()).map((i) => sides[m.sides(i) as 0 | 1]!),
    counts: indexes(m.countsLength()).map((i) => Number(m.counts(i))), flags: indexes(m.flagsLength()).map((i) => m.flags(i)),
    names: indexes(m.namesLength()).map((i) => m.names(i)),
    prices: plain(m.bb.__offset(m.bb_pos, 40)) === 0 ? undefined : indexes(m.pricesLength()).map((i) => m.prices(i)),
    customers: m.bb.__offset(m.bb_pos, 42) === 0 ? null : indexes(m.customersLength()).map((i) => customerOf(m.customers(i))),
    active: m.active(),
  });
  const toMixed = (b: any, v: Mixed) => {
    const side2 = (s: Side | null) => (s === null ? null : sides.indexOf(s));
    return new lib.MixedT(v.id, toCustomer(v.customer), toCustomer(v.billing), toCustomer(v.shipping), v.note ?? null,
      side2(v.level), side2(v.side), v.count === undefined ? null : BigInt(v.count), v.ratio, v.ok ?? null,
      [...v.blob], v.extra ? [...v.extra] : [], v.big, v.bigs, v.sides.map(side2), v.counts.map(BigInt), v.flags, v.names,
      v.prices ?? [], (v.customers ?? []).map(toCustomer), v.active).pack(b);
  };
  const pack = (v: any) => {
    const b = new lib.fb.Builder(64);
    b.finishSizePrefixed(v.pack(b));
    return b.asUint8Array() as Uint8Array;
  };
  // google's decoder drops a leading BOM; ours keeps it.
  const noBom = (s: string) => !s.startsWith("\ufeff");
  const runs = { numRuns: 150 };

  test("they read what we write: quote", () => {
    fc.assert(fc.property(quotes.filter((q) => noBom(q.symbol)), (v) => {
      const bb = new lib.fb.ByteBuffer(encode(market.quote.table, v));
      expect(fromQuote(lib.Quote.getSizePrefixedRootAsQuote(bb))).toEqual(v);
    }), runs);
  });

  test("we read what they write: quote, portfolio", () => {
    fc.assert(fc.property(quotes.map((v) => ({ ...v, bid: v.bid + 0, ask: v.ask + 0 })), (v) => {
      expect(decode(market.quote.table, pack(toQuote(v)))).toEqual(v);
    }), runs);
    fc.assert(fc.property(portfolios, (v) => {
      expect(decode(market.portfolio.table, pack(toPortfolio(v)))).toEqual(v);
    }), runs);
  });

  test("they read what we write: mixed", () => {
    const strings = (v: Mixed) => [v.id, v.note ?? "", ...v.names, ...[v.customer, v.billing, v.shipping, ...(v.customers ?? [])].flatMap((c) => (c ? [c.id, c.nick ?? ""] : []))];
    fc.assert(fc.property(mixeds.filter((v) => strings(v).every(noBom)), (v) => {
      const bb = new lib.fb.ByteBuffer(encode(market.mixed.table, v));
      expect(fromMixed(lib.Mixed.getSizePrefixedRootAsMixed(bb))).toEqual(v);
    }), runs);
  });

  test("we read what they write: mixed", () => {
    fc.assert(fc.property(mixeds, (v) => {
      const b = new lib.fb.Builder(64);
      b.finishSizePrefixed(toMixed(b, v));
      // Their object API cannot leave a vector out and drops optional zeros.
      const want = {
        ...v, extra: v.extra ?? new Uint8Array(0), prices: v.prices ?? [], customers: v.customers ?? [],
        level: v.level === "buy" ? null : v.level, count: v.count || undefined, ok: v.ok || undefined, ratio: v.ratio === 0 ? null : v.ratio,
      };
      expect(decode(market.mixed.table, b.asUint8Array())).toEqual(want);
    }), runs);
  });
});
