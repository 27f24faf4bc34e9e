import { DecodeError, parseHeader, Reader, Writer, type EventDescriptor } from "@ignex/nova-client/wire";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { dynamicSchema, type Values } from "../src/dynamic.ts";
import { checkLayout, type Layout } from "../src/layout.ts";
import * as market from "../src/market/index.ts";
import { flatc, readLayout, root } from "./flatc.ts";

function eventOf(layout: Layout, name: string): EventDescriptor<Values> {
  const event = dynamicSchema(checkLayout(layout)).events.find((e) => e.name === name);
  if (event === undefined) throw new Error(`no event ${name}`);
  return event;
}

const decode = (e: EventDescriptor<Values>, view: DataView, start = 0) => new Reader().payload(view, start, view.byteLength, e.table);

const position = { symbol: "NVDA", quantity: -40, avgPrice: 912.25, pnl: -0.5 };
const customer = { id: "c1", name: "Zoë", vip: true, loyaltyPoints: 9007199254740991, rating: 4.75 };
const samples = {
  quote: { symbol: "AAPL", bid: 187.25, ask: 187.5, bidSize: 300, askSize: 0, ts: 1720000000123 },
  trade: { symbol: "", price: -0.25, volume: -9007199254740991, side: "sell", ts: 0 },
  portfolio: { accountId: "a", positions: [position, { ...position, symbol: "日本" }], totalValue: 1e300, cash: 0.125, ts: 7 },
  complex: { id: "x", names: ["", "ü", "a\u0000b"], prices: [0.5, -3], counts: [1, -2], flags: [true, false], tags: ["sale", "hot"], active: true, total: 2.5, ts: 3 },
  order: { orderId: "o", customer, lines: [{ sku: "s", qty: 2, unitPrice: 1.5, tags: ["new"] }, { sku: "t", qty: 0, unitPrice: 0, tags: [] }], notes: [], discounts: [0.1], active: false, createdAt: 5, billing: customer },
  bigVal: { id: "b", seq: 123456789012n, when: 9 },
  chat: { room: "lobby", text: "hi \"there\" 🙂", ts: 1 },
} satisfies Record<string, object>;

describe("frames built by flatc", () => {
  const layout = readLayout("market");
  test.each(Object.keys(samples) as (keyof typeof samples)[])("market event %s", (name) => {
    const table = layout.events.find((e) => e.name === name)!.table;
    const [view] = flatc("market/backend.fbs", layout, table, [samples[name]]);
    expect(decode(eventOf(layout, name), view!)).toEqual(samples[name]);
  });

  test("every line of the earthquake file", () => {
    const layout = readLayout("seismic");
    const text = readFileSync(join(root, "examples/seismic/earthquakes.ndjson"), "utf8");
    const lines = text.split("\n").filter((l) => l !== "").map((l) => JSON.parse(l) as object);
    expect(lines).toHaveLength(1707);
    const event = eventOf(layout, "earthquake");
    const views = flatc("examples/seismic/backend.fbs", layout, "Earthquake", lines);
    lines.forEach((line, i) => expect(decode(event, views[i]!)).toStrictEqual(line));
  });
});

test("decodes as generated code does", () => {
  const layout = readLayout("market");
  for (const event of market.schema.events) {
    const value = samples[event.name as keyof typeof samples];
    const frame = new Writer().frame(event.id, event.table, value);
    const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
    const { start, end } = parseHeader(view);
    const generated = new Reader().payload(view, start, end, event.table);
    expect(new Reader().payload(view, start, end, eventOf(layout, event.name).table)).toEqual(generated);
  }
});

describe("hostile bytes give a value or a DecodeError", () => {
  const layout = readLayout("market");
  test.each(["portfolio", "order", "complex"] as const)("%s", (name) => {
    const table = layout.events.find((e) => e.name === name)!.table;
    const [view] = flatc("market/backend.fbs", layout, table, [samples[name]]);
    const bytes = new Uint8Array(view!.buffer, view!.byteOffset, view!.byteLength);
    const event = eventOf(layout, name);
    let refused = 0;
    const attempt = (data: Uint8Array) => {
      try {
        decode(event, new DataView(data.buffer, data.byteOffset, data.byteLength));
      } catch (error) {
        // A changed byte may also make an integer too large for a number.
        expect(error).toBeInstanceOf(DecodeError);
        refused++;
      }
    };
    for (let n = 0; n < bytes.length; n++) attempt(bytes.slice(0, n));
    expect(refused).toBe(bytes.length);
    for (let i = 0; i < bytes.length; i++) {
      for (let flip = 1; flip < 256; flip++) {
        const data = bytes.slice();
        data[i] = data[i]! ^ flip;
        attempt(data);
      }
    }
    expect(refused).toBeGreaterThan(bytes.length);
  });

  test("the error names the place", () => {
    const [view] = flatc("market/backend.fbs", layout, "PortfolioSnapshot", [samples.portfolio]);
    const bytes = new Uint8Array(view!.buffer, view!.byteOffset, view!.byteLength);
    const at = Buffer.from(bytes).indexOf("日本");
    bytes[at] = 0xff;
    expect(() => decode(eventOf(layout, "portfolio"), view!)).toThrow(/positions\[1\]\.symbol: a string is not valid UTF-8/);
  });
});

test("absent fields, unknown enum numbers and odd property names", () => {
  const layout = checkLayout({
    package: "p",
    fingerprint: "0000000000000000",
    enums: [{ name: "E", values: [{ literal: "a", number: 0 }] }],
    tables: [
      {
        name: "T",
        fields: [
          { name: "proto", json: "__proto__", kind: "string" },
          { name: "o", json: "o", kind: "int64", optional: true },
          { name: "n", json: "n", kind: "double", nullable: true },
          { name: "b", json: "b", kind: "bytes", optional: true, nullable: true },
          { name: "gone", json: "gone", deprecated: true },
          { name: "e", json: "e", kind: "enum", type: "E" },
          { name: "s", json: "s", kind: "table", type: "S" },
        ],
      },
      { name: "S", fields: [{ name: "v", json: "v", kind: "string", vector: true }] },
    ],
    events: [{ name: "t", id: 1, table: "T" }],
  });
  // Prefix, root offset, vtable (4 + 2·6 bytes, only e present), table, by hand.
  const bytes = Uint8Array.from([
    28, 0, 0, 0, /* root */ 20, 0, 0, 0,
    /* vtable at 8 */ 16, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0,
    /* table at 24 */ 16, 0, 0, 0, 7, 0, 0, 0,
  ]);
  const value = decode(eventOf(layout, "t"), new DataView(bytes.buffer));
  expect(Object.keys(value)).toEqual(["__proto__", "n", "e", "s"]);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect([value["n"], value["e"], value["s"]]).toEqual([null, "unknown:7", { v: [] }]);
});

test.each([
  [{}, "the schema has no list of enums"],
  [{ enums: [], tables: [{ name: "T", fields: [{ name: "x", json: "x", kind: "any" }] }], events: [] }, "table T, field x: kind any is unknown"],
  [{ enums: [], tables: [{ name: "T", fields: [{ name: "x", json: "x", kind: "enum", type: "E" }] }], events: [] }, "table T, field x: enum E does not exist"],
  [{ enums: [], tables: [{ name: "T", fields: [{ name: "x", json: "x", kind: "table", type: "U" }] }], events: [] }, "table T, field x: table U does not exist"],
  [{ enums: [], tables: [{ name: "T", fields: [{ name: "x", json: "x", kind: "table", type: "T" }] }], events: [] }, "table T requires itself"],
  [{ enums: [], tables: [], events: [{ name: "e", id: 1, table: "T" }] }, "event e: table T does not exist"],
])("a bad layout is refused: %#", (layout, message) => {
  expect(() => checkLayout(layout)).toThrow(message);
});

test("a dynamic schema does not encode", () => {
  const event = eventOf(readLayout("market"), "chat");
  expect(() => new Writer().frame(event.id, event.table, {})).toThrow(/decodes only/);
});
