import { Reader, Writer, type EventDescriptor } from "@ignex/nova-client/wire";
import { expect, test } from "vitest";
import * as language from "../../../../codegen/testdata/language/ts/index.ts";
import { dynamicSchema } from "../src/dynamic.ts";
import { columnsOf } from "../src/columns.ts";
import { checkLayout, type Layout } from "../src/layout.ts";
import { readLayout } from "./flatc.ts";

const circle = { kind: "circle" as const, r: 0.5 };
const square = { kind: "square" as const, w: 3, tag: "t" };
const node = { name: "a", kids: [{ name: "b", kids: [], next: { name: "c", kids: [], next: undefined } }], next: undefined };

const samples: [EventDescriptor<any>, unknown][] = [
  [language.nums, {
    a: -128, b: -32768, c: -2147483648, d: 255, e: 65535, f: 4294967295, g: 2n ** 64n - 1n, h: 0.25, i: -(2n ** 63n),
    as: [1, -1], bs: [0, 65535], gs: [0n, 5n], hs: [1.5], ds: [7], ao: 5, ho: undefined, go: undefined,
  }],
  [language.grid, { rows: [[1, 2], []], deep: [[[{ x: 1 }], []], []], blobs: [Uint8Array.of(1, 2), Uint8Array.of()], opt: undefined }],
  [language.maps, {
    prices: { "": 1, "\u{1F600}": 2, "\uffff": 3 }, objs: { a: { x: 1, s: undefined } }, lists: { l: ["x"] }, nest: { n: { yes: true } },
    many: [{ k: -5 }, {}], shapes: { c: circle, s: square }, blobs: { b: Uint8Array.of(9) }, opt: undefined,
  }],
  [language.drawing, { main: circle, other: square, maybe: null, all: [circle, square], one: circle, grid: [[square], []], result: { ok: false, code: 4 } }],
  [language.tree, node],
  [language.both, { ...node, extra: true }],
];

test.each(samples.map(([event, value]) => [event.name, event, value] as const))("the page reads %s as generated code does", (name, event, value) => {
  const layout = checkLayout(readLayout("language"));
  const bytes = new Writer().payload(event.table, value);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const dynamic = dynamicSchema(layout).events.find((e) => e.name === name)!;
  expect(new Reader().payload(view, 0, view.byteLength, dynamic.table)).toEqual(value);
  expect(columnsOf(layout, layout.events.find((e) => e.name === name)!.table).length).toBeGreaterThan(0);
});

test("a value that is no object stands in a box", () => {
  const layout = checkLayout(readLayout("language"));
  const bytes = new Writer().payload(language.tags.table, ["a", "b"]);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const dynamic = dynamicSchema(layout).events.find((e) => e.name === "tags")!;
  expect(new Reader().payload(view, 0, view.byteLength, dynamic.table)).toEqual({ value: ["a", "b"] });
});

test("a member of a newer schema is told by its number", () => {
  const layout = readLayout("language");
  const older = structuredClone(layout) as Layout;
  older.unions!.find((u) => u.name === "Shape")!.members.splice(1);
  const bytes = new Writer().payload(language.shape.table, square);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const dynamic = dynamicSchema(checkLayout(older)).events.find((e) => e.name === "shape")!;
  expect(new Reader().payload(view, 0, view.byteLength, dynamic.table)).toEqual({ value: { kind: "unknown:2" } });
});

test.each([
  [(l: Layout) => { l.unions![0]!.members = []; }, "union Shape has no members"],
  [(l: Layout) => { l.unions![0]!.members[0]!.table = "Gone"; }, "union Shape: table Gone does not exist"],
  [(l: Layout) => { l.unions = []; }, /union \w+ does not exist/],
  [(l: Layout) => { l.tables.find((t) => t.box)!.fields = []; }, /stands for nothing/],
])("a layout that contradicts itself is refused", (spoil, message) => {
  const layout = readLayout("language");
  spoil(layout);
  expect(() => checkLayout(layout)).toThrow(message);
});
