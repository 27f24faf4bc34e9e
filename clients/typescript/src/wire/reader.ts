import { DecodeError } from "./errors.js";
import type { Table } from "./table.js";
import { getText } from "./text.js";
import { MAX_DEPTH, TOO_DEEP, pathOf } from "./writer.js";
import type { FieldName } from "./writer.js";

/** Called when an int64 of a plain integer field is outside ±(2^53−1). */
export type UnsafeInt64 = (path: string) => void;

const OUTSIDE = "an offset or length points outside the buffer";
const TOO_LARGE = "the value is far larger than its buffer";

/**
 * Verifies and reads one size-prefixed FlatBuffer in one pass: every offset,
 * length, vtable and depth is checked against the buffer before use, and what
 * one decode may produce is bounded (tables visited ≤ length / 4; bytes of
 * strings and vectors ≤ 16 × length + 64 KiB), since offsets may alias. A
 * malformed buffer throws DecodeError and nothing else.
 *
 * Generated code calls the methods; each takes the field id and the property
 * name for error messages, and reads the table that was entered last. Absent
 * fields read as "", 0, false, the first literal, [] or a table of those; `has`
 * tells them apart. Not for re-entrant use.
 */
export class Reader {
  #view: DataView = EMPTY;
  /** Index of the size prefix, and after the last byte. */
  #start = 0;
  #end = 0;

  // The table entered last. vtableLen 0 stands for a missing required table,
  // all of whose fields are absent.
  #pos = 0;
  #vtable = 0;
  #vtableLen = 0;

  #tables = 0;
  #left = 0;
  #depth = 0;
  readonly #names = [""];
  readonly #indexes = [-1];
  /** Name of the vector being read, of which numbers name the elements. */
  #list = "";
  readonly #onUnsafe: UnsafeInt64 | undefined;

  /**
   * @param onUnsafe what to do with a plain int64 outside ±(2^53−1): called
   *   with its path, the nearest number is the value; without it: DecodeError
   */
  constructor(onUnsafe?: UnsafeInt64) {
    this.#onUnsafe = onUnsafe;
  }

  /**
   * Decodes the size-prefixed FlatBuffer in bytes [start, end) of view.
   * @throws DecodeError
   */
  payload<T>(view: DataView, start: number, end: number, table: Table<T>): T {
    this.#view = view;
    this.#start = start;
    this.#end = end;
    const len = end - start;
    this.#tables = Math.floor(len / 4);
    this.#left = 16 * len + 65536;
    this.#depth = 0;
    try {
      if (len < 8 || view.getUint32(start, true) !== len - 4) {
        this.fail("", "the size prefix is wrong");
      }
      this.#enter(this.#follow(start + 4, ""), "");
      return table.decode(this);
    } finally {
      // Keep no frame alive between decodes.
      this.#view = EMPTY;
    }
  }

  /** Reports whether a field is present. */
  has(id: number): boolean {
    const entry = 4 + 2 * id;
    return entry < this.#vtableLen && this.#view.getUint16(this.#vtable + entry, true) !== 0;
  }

  /** The frame at hand. */
  get view(): DataView {
    return this.#view;
  }

  bool(id: number, name: string): boolean {
    const at = this.field(id, 1, name);
    return at !== 0 && this.#view.getUint8(at) !== 0;
  }

  float64(id: number, name: string): number {
    const at = this.field(id, 8, name);
    return at === 0 ? 0 : this.#view.getFloat64(at, true);
  }

  /** An int64 as a number. */
  int64(id: number, name: string): number {
    const at = this.field(id, 8, name);
    return at === 0 ? 0 : this.integer(at, name);
  }

  string(id: number, name: string): string {
    const slot = this.field(id, 4, name);
    return slot === 0 ? "" : this.#text(slot, name);
  }

  struct<T>(id: number, table: Table<T>, name: string): T {
    return this.#child(this.field(id, 4, name), table, name, -1);
  }

  structs<T>(id: number, table: Table<T>, name: string): T[] {
    return this.each(id, 4, name, (at, i) => {
      this.#list = name;
      return this.#child(at, table, name, i);
    });
  }

  /** Reads the table that slot refers to, 0 = a missing one; index is -1 outside vectors. */
  #child<T>(slot: number, table: Table<T>, name: string, index: number): T {
    const pos = this.#pos, vtable = this.#vtable, vtableLen = this.#vtableLen, depth = this.#depth;
    if (slot === 0) {
      this.#vtableLen = 0;
    } else {
      const field = index < 0 ? name : index;
      this.#enter(this.#follow(slot, field), field);
      this.#names[depth] = name;
      this.#indexes[depth] = index;
    }
    const v = table.decode(this);
    this.#pos = pos;
    this.#vtable = vtable;
    this.#vtableLen = vtableLen;
    this.#depth = depth;
    return v;
  }

  strings(id: number, name: string): string[] {
    return this.each(id, 4, name, (at, i) => this.#text(at, i));
  }

  /** Reads a vector; get takes the index of an element's first byte, and its own. */
  each<V>(id: number, size: number, name: string, get: (at: number, i: number) => V): V[] {
    const v: V[] = [];
    const at = this.vector(id, size, name);
    if (at === 0) return v;
    const n = this.count(at);
    this.#list = name;
    for (let i = 0; i < n; i++) v.push(get(at + i * size, i));
    return v;
  }

  /**
   * Index of a field of size bytes; 0 when it is absent. The table's own size,
   * which the vtable also gives, decides nothing: google's builder for Go shares
   * a vtable between tables of different sizes when their offsets are equal.
   */
  field(id: number, size: number, name: string): number {
    const entry = 4 + 2 * id;
    if (entry >= this.#vtableLen) return 0;
    const at = this.#view.getUint16(this.#vtable + entry, true);
    if (at === 0) return 0;
    if (at < 4 || this.#pos + at + size > this.#end) this.fail(name, OUTSIDE);
    return this.#pos + at;
  }

  /** Index of the first element of a vector; 0 when the field is absent. */
  vector(id: number, size: number, name: string): number {
    const slot = this.field(id, 4, name);
    if (slot === 0) return 0;
    const at = this.#follow(slot, name) + 4;
    const bytes = this.count(at) * size;
    if (bytes > this.#end - at) this.fail(name, OUTSIDE);
    this.#spend(bytes, name);
    return at;
  }

  /** Number of elements of the vector whose first element is at `at`. */
  count(at: number): number {
    return this.#view.getUint32(at - 4, true);
  }

  /** Follows the offset at slot, which lies in the buffer; 4 bytes stand at its target. */
  #follow(slot: number, name: FieldName): number {
    const target = slot + this.#view.getUint32(slot, true);
    if (target <= slot || target > this.#end - 4) this.fail(name, OUTSIDE);
    return target;
  }

  /** Verifies the table at pos, where 4 bytes stand, and makes it the current one. */
  #enter(pos: number, name: FieldName): void {
    if (this.#depth >= MAX_DEPTH) this.fail(name, TOO_DEEP);
    if (--this.#tables < 0) this.fail(name, TOO_LARGE);
    const view = this.#view;
    const vtable = pos - view.getInt32(pos, true);
    if (vtable < this.#start || vtable > this.#end - 4) this.fail(name, OUTSIDE);
    const size = view.getUint16(vtable, true);
    if (size < 4 || size & 1 || vtable + size > this.#end) this.fail(name, "the vtable has a wrong size");
    this.#depth++;
    this.#pos = pos;
    this.#vtable = vtable;
    this.#vtableLen = size;
  }

  #text(slot: number, name: FieldName): string {
    const view = this.#view;
    const pos = this.#follow(slot, name);
    const size = view.getUint32(pos, true);
    const at = pos + 4;
    if (size >= this.#end - at) this.fail(name, OUTSIDE);
    if (view.getUint8(at + size) !== 0) this.fail(name, "a string does not end with NUL");
    this.#spend(size, name);
    const s = getText(view, at, size);
    if (s === undefined) this.fail(name, "a string is not valid UTF-8");
    return s;
  }

  #spend(n: number, name: FieldName): void {
    if ((this.#left -= n) < 0) this.fail(name, TOO_LARGE);
  }

  integer(at: number, name: FieldName): number {
    const value = this.#view.getInt32(at + 4, true) * 0x100000000 + this.#view.getUint32(at, true);
    if (!Number.isSafeInteger(value)) {
      if (!this.#onUnsafe) this.fail(name, "the integer is beyond 2^53; declare the field as bigint");
      this.#onUnsafe(pathOf(this.#names, this.#indexes, this.#depth, this.#list, name));
    }
    return value;
  }

  fail(name: FieldName, reason: string): never {
    throw new DecodeError(pathOf(this.#names, this.#indexes, this.#depth, this.#list, name), reason);
  }
}

const EMPTY = /* #__PURE__ */ new DataView(/* #__PURE__ */ new ArrayBuffer(0));
