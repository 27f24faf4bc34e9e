// Codecs of unions and maps, for the schemas that have them.
import type { Reader } from "./reader.js";
import type { Table } from "./table.js";
import { show } from "./writer.js";
import type { Writer } from "./writer.js";

/** Objects told apart by a property with a constant value. */
export interface UnionCodec<U> {
  /** Name in the schema, for messages. */
  readonly name: string;
  /** The property that tells the members apart; it is not written. */
  readonly tag: string;
  /** Number, constant and table of each member. */
  readonly members: readonly UnionMember[];
  /** Index of the member that a missing required union reads as. */
  readonly zero: number;
  /** Never set: it ties U to the codec. */
  readonly type?: U;
}

// any: the members have different types, and the constant tells which.
export type UnionMember = readonly [number: number, constant: string | number | boolean, table: Table<any>];

/** Makes the codec of a union. */
export function defineUnion<U>(name: string, tag: string, members: readonly UnionMember[], zero: number): UnionCodec<U> {
  return { name, tag, members, zero };
}

/** Writes the number of the member at `at`, and the member. */
export function writeUnion<U>(w: Writer, at: number, slot: number, v: U, union: UnionCodec<U>, name: string): void {
  if (Object(v) !== v) w.wrong(name, `an object (${union.name})`, v);
  const tag = (v as Record<string, unknown>)[union.tag];
  const member = union.members.find(([, constant]) => constant === tag);
  if (!member) {
    const known = union.members.map(([, constant]) => JSON.stringify(constant)).join(", ");
    return w.fail(`${name}.${union.tag}`, `expected one of ${known}, got ${show(tag)}`);
  }
  w.view.setUint8(at, member[0]);
  w.struct(slot, v, member[2], name);
}

/**
 * A member of a newer schema reads as an object whose tag is `unknown:7`.
 * @param absent what a union that is not there reads as; without it: a member of zeros
 */
export function readUnion<U, A = never>(r: Reader, id: number, union: UnionCodec<U>, name: string, ...absent: A[]): U | A {
  const at = r.field(id - 1, 1, name);
  const number = at === 0 ? 0 : r.view.getUint8(at);
  if ((number === 0) !== (r.field(id, 4, name) === 0)) {
    r.fail(name, "a union has a type without a value, or a value without a type");
  }
  if (number === 0 && absent.length > 0) return absent[0]!;
  const member = number === 0 ? union.members[union.zero] : union.members.find((m) => m[0] === number);
  if (!member) return { [union.tag]: `unknown:${number}` } as U;
  return r.struct(id, member[2] as Table<U>, name);
}

/** Writes a map: entries in the order of their keys' bytes. */
export function writeMap<V>(w: Writer, slot: number, v: Record<string, V>, entry: Table<[key: string, value: V]>, name: string): void {
  if (Object(v) !== v || Symbol.iterator in v) w.wrong(name, "an object", v);
  w.structs(slot, sortedEntries(v), entry, name);
}

/** The entries of a map as they stand on the wire: in the order of their keys' bytes. */
export function sortedEntries<V>(v: Record<string, V>): [key: string, value: V][] {
  const entries = Object.entries(v).map(([key, value]): [string, V] => [key.replace(/\p{Cs}/gu, "\ufffd"), value]);
  return entries.sort(([a], [b]) => compareText(a, b));
}

/** Of equal keys the last counts. The object has no prototype: any key is its own. */
export function readMap<V>(r: Reader, id: number, entry: Table<[key: string, value: V]>, name: string): Record<string, V> {
  const v = Object.create(null) as Record<string, V>;
  for (const [key, value] of r.structs(id, entry, name)) v[key] = value;
  return v;
}

/** Orders strings as their UTF-8 bytes do: surrogates stand above all other units. */
function compareText(a: string, b: string): number {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) {
    const x = a.charCodeAt(i), y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  return unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit;
}
