import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import * as language from "../../../codegen/testdata/language/ts/index.js";
import * as constraints from "../../../codegen/testdata/constraints/ts/index.js";
import { DecodeError, EncodeError, Reader, Writer, type EventDescriptor } from "../src/wire/index.js";

const circle = { kind: "circle" as const, r: 0.5 };
const square = { kind: "square" as const, w: 3 };
const drawing: language.Drawing = { main: circle, maybe: null, all: [], one: circle, grid: [], result: { ok: true, value: "x" } };
const maps: language.Maps = { prices: {}, objs: {}, lists: {}, nest: {}, many: [], shapes: {}, blobs: {} };
const nums: language.Nums = { a: 0, b: 0, c: 0, d: 0, e: 0, f: 0, g: 0n, h: 0, i: 0n, as: [], bs: [], gs: [], hs: [], ds: [] };

function bytesOf<T>(event: EventDescriptor<T>, v: T): Uint8Array {
  return new Writer().payload(event.table, v);
}

function read<T>(event: EventDescriptor<T>, bytes: Uint8Array): T {
  return new Reader().payload(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0, bytes.byteLength, event.table);
}

describe("what does not fit the schema is an error with its place", () => {
  test.each<[EventDescriptor<any>, unknown, string]>([
    [language.drawing, { ...drawing, main: undefined }, "main: expected an object (Shape), got undefined"],
    [language.drawing, { ...drawing, main: { kind: "oval" } }, 'main.kind: expected one of "circle", "square", got "oval"'],
    [language.drawing, { ...drawing, main: { kind: "unknown:3" } }, 'main.kind: expected one of "circle", "square", got "unknown:3"'],
    [language.drawing, { ...drawing, one: { kind: "square", r: 1 } }, 'one.kind: expected "circle", got "square"'],
    [language.drawing, { ...drawing, result: { ok: 1 } }, "result.ok: expected one of true, false, got 1"],
    [language.drawing, { ...drawing, all: [circle, 5] }, "all[1].value: expected an object (Shape), got 5"],
    [language.grid, { rows: [[1], ["x"]], deep: [], blobs: [] }, 'rows[1].items[0]: expected a number, got "x"'],
    [language.maps, { ...maps, prices: [1] }, "prices: expected an object, got an array"],
    [language.maps, { ...maps, prices: new Map([["a", 1]]) }, "prices: expected an object, got an object"],
    [language.maps, { ...maps, prices: null }, "prices: expected an object, got null"],
    [language.maps, { ...maps, prices: { a: "1" } }, 'prices[0].value: expected a number, got "1"'],
    [language.nums, { ...nums, a: 128 }, "a: 128 is not within -128 and 127"],
    [language.nums, { ...nums, e: -1 }, "e: -1 is not within 0 and 65535"],
    [language.nums, { ...nums, c: 1.5 }, "c: 1.5 is not an integer"],
    [language.nums, { ...nums, g: -1n }, "g: -1 is negative or does not fit into 64 bits"],
    [language.nums, { ...nums, g: 1 }, "g: expected a bigint, got 1"],
    [language.nums, { ...nums, h: 1e39 }, "h: 1e+39 is beyond the range of a float"],
    [language.nums, { ...nums, as: [1, 200] }, "as[1]: 200 is not within -128 and 127"],
    [language.tags, "a", 'value: expected an array, got "a"'],
    [language.note, null, "value: expected a string, got null"],
  ])("%#", (event, value, message) => {
    expect(() => bytesOf(event, value)).toThrow(new EncodeError(message.slice(0, message.indexOf(": ")), message.slice(message.indexOf(": ") + 2)));
  });

  test("65 levels and a circle", () => {
    let node: language.Node = { name: "", kids: [] };
    for (let i = 1; i < 64; i++) node = { name: "", kids: [], next: node };
    expect(read(language.tree, bytesOf(language.tree, node)).next?.next?.name).toBe("");
    expect(() => bytesOf(language.tree, { name: "", kids: [], next: node })).toThrow("tables are nested deeper than 64");
    const circular: language.Node = { name: "", kids: [] };
    circular.kids.push(circular);
    expect(() => bytesOf(language.tree, circular)).toThrow("tables are nested deeper than 64");
  });
});

test("infinities and NaN are floats, and what a float rounds to comes back", () => {
  for (const h of [Infinity, -Infinity, NaN, -0, Math.fround(0.1)]) expect(read(language.nums, bytesOf(language.nums, { ...nums, h })).h).toBe(h);
});

test("keys of any kind stay keys, in the order of their UTF-8 bytes", () => {
  const prices = Object.fromEntries(["\u{1F600}", "\uffff", "\ue000", "b", "a", "", "\ud800"].map((k, i) => [k, i]));
  Object.defineProperty(prices, "__proto__", { value: 7, enumerable: true });
  const out = read(language.maps, bytesOf(language.maps, { ...maps, prices })).prices;
  expect(Object.keys(out)).toEqual(["", "__proto__", "a", "b", "\ue000", "\ufffd", "\uffff", "\u{1F600}"]);
  expect([out["__proto__"], Object.getPrototypeOf(out)]).toEqual([7, null]);
});

test("damaged bytes are a value or a DecodeError", () => {
  const samples: [EventDescriptor<any>, unknown][] = [
    [language.drawing, { ...drawing, other: square, maybe: circle, all: [circle, square], grid: [[square]] }],
    [language.maps, { ...maps, prices: { a: 1, b: 2 }, objs: { o: { x: 1, s: "s" } }, nest: { n: { y: true } }, many: [{ k: 1 }], shapes: { c: circle } }],
    [language.nums, { ...nums, gs: [1n], hs: [0.5], ao: 3 }],
    [language.tree, { name: "a", kids: [{ name: "b", kids: [] }] }],
  ];
  for (const [event, value] of samples) {
    const good = bytesOf(event, value);
    for (let i = 0; i < good.length; i++) {
      for (const b of [0, 1, 0x7f, 0x80, 0xff]) {
        const bad = good.slice();
        bad[i] = b;
        try {
          read(event, bad);
        } catch (e) {
          expect(e).toBeInstanceOf(DecodeError);
        }
      }
      expect(() => read(event, good.slice(0, i))).toThrow(DecodeError);
    }
  }
});

describe("validators name the first value that breaks a constraint", () => {
  const order: constraints.Order = {
    id: "123e4567-e89b-12d3-a456-426614174000", email: "a@b.co", at: "2024-02-29T12:00:00Z", home: "https://a.b/", name: "Zoë",
    lines: [{ sku: "AB1", quantity: 1 }], tags: ["a"], grid: [[3]], prices: { a: 1 }, "by/line": {}, level: 2.5, agreed: true, color: "red",
    shape: { kind: "point" }, maybe: null, shapes: [], big: 5n, small: 1, raw: Uint8Array.of(1), half: 0.25, note: null,
  };
  test("a valid one", () => expect(constraints.validateOrder(order)).toBeUndefined());
  test.each<[Partial<constraints.Order>, string, string]>([
    [{ id: "x" }, "/id", "must be a UUID"],
    [{ name: "😀" }, "/name", "must have at least 2 characters"],
    [{ name: "😀😀😀😀" }, "", ""],
    [{ lines: [] }, "/lines", "must have at least 1 elements"],
    [{ lines: [{ sku: "AB1", quantity: 0 }] }, "/lines/0/quantity", "must be at least 1"],
    [{ lines: [{ sku: "AB1", quantity: 2 }, { sku: "AB1", quantity: 2 }] }, "/lines", "must not hold an element twice"],
    [{ grid: [[3], [6, 7]] }, "/grid/1/1", "must be a multiple of 3"],
    [{ grid: [[]] }, "/grid/0", "must have at least 1 elements"],
    [{ prices: { A: 1 } }, "/prices/A", "the key must match ^[a-z]+$"],
    [{ "by/line": { "x~y": { sku: "q", quantity: 1 } } }, "/by~1line/x~0y/sku", "must match ^[A-Z]{2}\\d+$"],
    [{ level: 2 }, "/level", "must be one of 1, 2.5, 3"],
    [{ agreed: false }, "/agreed", "must be true"],
    [{ color: "unknown:7" as "red" }, "/color", 'must be one of "red", "green"'],
    [{ shape: { kind: "circle", radius: -1 } }, "/shape/radius", "must be at least 0"],
    [{ maybe: { kind: "circle", radius: NaN } }, "/maybe/radius", "must be at least 0"],
    [{ shapes: [{ kind: "unknown:3" } as never] }, "/shapes/0", "is no member of Shape"],
    [{ big: -10n }, "/big", "must be at least -5"],
    [{ big: 4n }, "/big", "must be a multiple of 5"],
    [{ small: 0 }, "/small", "must be at least 0.5"],
    [{ raw: new Uint8Array(3) }, "/raw", "must have at most 2 bytes"],
    [{ note: "four" }, "/note", "must have at most 3 characters"],
  ])("%#: %o", (change, pointer, message) => {
    expect(constraints.validateOrder({ ...order, ...change })).toEqual(message ? { pointer, message } : undefined);
  });
  test("of a value that is no object", () => {
    expect(constraints.validateNamesBox(["1.2.3.4", "1.2.3"])).toEqual({ pointer: "/1", message: "must be an IPv4 address" });
  });
});

test("a page that uses no union, map or validator has no code of them", async () => {
  const { build } = await import("esbuild");
  const runtime = fileURLToPath(new URL("../src/wire/index.ts", import.meta.url));
  const bundle = async (names: string) => {
    const { outputFiles } = await build({
      stdin: { contents: `export { ${names} } from "../../../codegen/testdata/language/ts/index.ts"`, resolveDir: fileURLToPath(new URL(".", import.meta.url)) },
      bundle: true, minify: true, format: "esm", write: false, alias: { "@ignex/nova-client/wire": runtime },
    });
    return outputFiles[0]!.text;
  };
  const plain = await bundle("tree"), all = await bundle("tree, drawing");
  expect(plain).not.toMatch(/unknown:|Cs}|25\[0-5\]/);
  expect(all).toContain("unknown:");
});
