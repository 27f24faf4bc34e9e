import { HEADER_LEN, MAX_PAYLOAD, PREFIX_LEN, putHeader } from "./envelope.js";
import { EncodeError } from "./errors.js";
import type { Table } from "./table.js";
import { putText } from "./text.js";

/** Property name, or the index of an element of the vector at hand. */
export type FieldName = string | number;

/** Tables on one path, the root included. */
export const MAX_DEPTH = 64;
export const TOO_DEEP = "tables are nested deeper than 64";

/** Allocating a small typed array costs more than encoding into it: frames share chunks. */
const CHUNK = 16384;
/** A frame starts in a chunk only when so much is left. */
const LEFT = 1024;
/** Larger frames are copied, so that they do not pin a buffer with slack. */
const SHARED = CHUNK / 4;
/** A buffer that one large value made grow beyond this is not kept. */
const KEEP = 1 << 20;

/**
 * Writes one frame at a time: a table first, then what it refers to, depth
 * first in the order of field ids. The same value gives the same bytes as every
 * other nova encoder. The bytes it returns are never written again.
 *
 * Generated code calls the methods; each takes the index of the field's inline
 * slot (a table's index plus a constant), the value, and the property name for
 * error messages. While it writes, a getter of the value may ask for another frame.
 *
 * Invariant: the frame being written is bytes [origin, pos) of buf, base is the
 * index of its size prefix, from which all alignment counts. Indexes stay valid
 * when the buffer grows. Bytes before origin belong to earlier frames.
 */
export class Writer {
  #buf = new Uint8Array(0);
  #view = new DataView(this.#buf.buffer);
  #origin = 0;
  #pos = 0;
  #base = 0;
  #depth = 0;
  readonly #names: string[] = [];
  readonly #indexes: number[] = [];
  /** Name of the vector being written, of which numbers name the elements. */
  #list = "";
  /** A frame is being written; another one that a getter asks for is another writer's. */
  #busy = false;

  /**
   * Encodes a whole frame.
   * @throws EncodeError when v does not fit the schema
   */
  frame<T>(id: number, table: Table<T>, v: T): Uint8Array {
    if (this.#busy) return new Writer().frame(id, table, v);
    this.#begin();
    putHeader(this.#view, this.#origin, id);
    return this.#whole(this.#origin + HEADER_LEN, table, v);
  }

  /**
   * Encodes only the size-prefixed FlatBuffer.
   * @throws EncodeError when v does not fit the schema
   */
  payload<T>(table: Table<T>, v: T): Uint8Array {
    if (this.#busy) return new Writer().payload(table, v);
    this.#begin();
    return this.#whole(this.#origin, table, v);
  }

  #begin(): void {
    if (this.#origin + LEFT > this.#buf.length) {
      this.#use(new Uint8Array(CHUNK));
      this.#origin = 0;
    }
  }

  #whole<T>(base: number, table: Table<T>, v: T): Uint8Array {
    this.#depth = 0;
    this.#base = base;
    this.#pos = base + 2 * PREFIX_LEN;
    this.#busy = true;
    try {
      this.#child(base + PREFIX_LEN, table, v, "", -1);
      const size = this.#pos - base - PREFIX_LEN;
      if (size > MAX_PAYLOAD) this.#tooBig();
      this.#view.setUint32(base, size, true);
      return this.#take();
    } finally {
      this.#busy = false;
    }
  }

  #take(): Uint8Array {
    const origin = this.#origin, pos = this.#pos;
    if (pos - origin <= SHARED) {
      this.#origin = pos;
      return new Uint8Array(this.#buf.buffer, origin, pos - origin);
    }
    const copy = this.#buf.slice(origin, pos);
    if (this.#buf.length > KEEP) {
      this.#use(new Uint8Array(0));
      this.#origin = 0;
    }
    return copy;
  }

  /** The bytes being written; another one after they have grown. */
  get view(): DataView {
    return this.#view;
  }

  // Inline values.

  bool(at: number, v: boolean, name: FieldName): void {
    if (typeof v !== "boolean") this.wrong(name, "a boolean", v);
    this.#buf[at] = v ? 1 : 0;
  }

  float64(at: number, v: number, name: FieldName): void {
    if (typeof v !== "number") this.wrong(name, "a number", v);
    this.#view.setFloat64(at, v, true);
  }

  /** An int64 held by a number: an integer within ±(2^53−1). */
  int64(at: number, v: number, name: FieldName): void {
    if (!Number.isSafeInteger(v)) this.#unsafe(name, v);
    this.#view.setInt32(at, v | 0, true);
    this.#view.setInt32(at + 4, Math.floor(v / 0x100000000), true);
  }

  /** Marks field id of the table at index t as absent. */
  absent<T>(t: number, table: Table<T>, id: number): void {
    this.#view.setUint16(t - table.vtableLen + 4 + 2 * id, 0, true);
  }

  // What a slot refers to.

  string(slot: number, v: string, name: FieldName): void {
    if (typeof v !== "string") this.wrong(name, "a string", v);
    const most = 3 * v.length;
    this.#reserve(most + 8);
    const at = this.#align(4, 0);
    const end = putText(this.#buf, at + 4, v);
    this.#view.setUint32(slot, at - slot, true);
    this.#view.setUint32(at, end - at - 4, true);
    this.#buf[end] = 0;
    this.#pos = end + 1;
  }

  struct<T>(slot: number, v: T, table: Table<T>, name: string): void {
    this.#child(slot, table, v, name, -1);
  }

  strings(slot: number, v: readonly string[], name: string): void {
    this.each(slot, v, 4, name, this.string);
  }

  structs<T>(slot: number, v: readonly T[], table: Table<T>, name: string): void {
    const n = this.#count(v, name);
    const at = this.vector(slot, n, 4);
    if (n === 0) return;
    this.#enter(name, 0);
    const level = this.#depth - 1;
    let vtable = 0;
    for (let i = 0; i < n; i++) {
      this.#indexes[level] = i;
      // Elements without absent-able fields share one vtable.
      if (table.absent || i === 0) vtable = this.#putVtable(table.absent ? table.align : 2, table);
      this.#reserve(table.inline + 8);
      this.#body(at + 4 * i, this.#align(table.align, 0), vtable, table, v[i]!);
    }
    this.#depth--;
  }

  // For kinds.ts too.

  /** A vector of anything but tables; put takes the index of an element as its name. */
  each<V>(slot: number, v: readonly V[], size: number, name: string, put: (at: number, v: V, index: number) => void): void {
    const n = this.#count(v, name);
    const at = this.vector(slot, n, size);
    this.#list = name;
    for (let i = 0; i < n; i++) put.call(this, at + i * size, v[i]!, i);
  }

  /** A table with its own vtable directly before it. */
  #child<T>(slot: number, table: Table<T>, v: T, name: string, index: number): void {
    this.#enter(name, index);
    const vtable = this.#putVtable(table.align, table);
    this.#body(slot, this.#pos, vtable, table, v);
    this.#depth--;
  }

  /** The table at t, to which slot refers, and what it refers to. */
  #body<T>(slot: number, t: number, vtable: number, table: Table<T>, v: T): void {
    if (!table.box && Object(v) !== v) this.wrong("", `an object (${table.name})`, v);
    const view = this.#view;
    this.#pos = t + table.inline;
    view.setInt32(t, t - vtable, true);
    view.setUint32(slot, t - slot, true);
    // Only the hole after the soffset stays unwritten when nothing can be absent.
    if (table.absent) this.#buf.fill(0, t + 4, this.#pos);
    else view.setUint32(t + 4, 0, true);
    table.encode(this, t, v);
  }

  /** Appends a vtable that ends on a multiple of align, and makes room for one table. */
  #putVtable<T>(align: number, table: Table<T>): number {
    const words = table.vtable;
    this.#reserve(table.vtableLen + table.inline + 16);
    const at = this.#align(align, table.vtableLen);
    const view = this.#view;
    for (let i = 0; i < words.length; i++) view.setUint16(at + 2 * i, words[i]!, true);
    this.#pos = at + table.vtableLen;
    return at;
  }

  /** Appends the head of a vector; returns the index of its first element. */
  vector(slot: number, n: number, size: number): number {
    this.#reserve(n * size + 16);
    const at = this.#align(size > 4 ? size : 4, 4);
    this.#view.setUint32(slot, at - slot, true);
    this.#view.setUint32(at, n, true);
    this.#pos = at + 4 + n * size;
    return at + 4;
  }

  /**
   * Pads with zeros until `ahead` bytes more would end on a multiple of n.
   * At least 8 bytes are free. The caller moves pos.
   */
  #align(n: number, ahead: number): number {
    const from = this.#pos;
    const to = from + (-(from - this.#base + ahead) & (n - 1));
    for (let i = from; i < to; i++) this.#buf[i] = 0;
    return to;
  }

  /** Makes room for n bytes more. */
  #reserve(n: number): void {
    if (this.#pos + n > this.#buf.length) this.#grow(n);
  }

  #grow(n: number): void {
    const need = this.#pos + n;
    // Strings reserve three bytes a unit, so a legal value may ask for more than MAX_PAYLOAD.
    if (need > 3 * MAX_PAYLOAD) this.#tooBig();
    let bigger: Uint8Array<ArrayBuffer>;
    try {
      bigger = new Uint8Array(Math.max(need, 2 * this.#buf.length));
    } catch {
      return this.#tooBig();
    }
    bigger.set(this.#buf.subarray(this.#origin, this.#pos), this.#origin);
    this.#use(bigger);
  }

  #use(buf: Uint8Array<ArrayBuffer>): void {
    this.#buf = buf;
    this.#view = new DataView(buf.buffer);
  }

  #count(v: readonly unknown[], name: string): number {
    if (!Array.isArray(v)) this.wrong(name, "an array", v);
    return v.length;
  }

  #enter(name: string, index: number): void {
    const depth = this.#depth;
    if (depth >= MAX_DEPTH) this.fail(name, TOO_DEEP);
    this.#names[depth] = name;
    this.#indexes[depth] = index;
    this.#depth = depth + 1;
  }

  #unsafe(name: FieldName, v: unknown): never {
    if (typeof v !== "number") return this.wrong(name, "an integer", v);
    if (!Number.isInteger(v)) return this.fail(name, `${v} is not an integer`);
    return this.fail(name, `${v} is beyond 2^53; declare the field as bigint`);
  }

  #tooBig(): never {
    return this.fail("", "value is too big for one frame");
  }

  wrong(name: FieldName, want: string, v: unknown): never {
    return this.fail(name, `expected ${want}, got ${show(v)}`);
  }

  fail(name: FieldName, reason: string): never {
    throw new EncodeError(pathOf(this.#names, this.#indexes, this.#depth, this.#list, name), reason);
  }
}

/** Joins the tables entered (the root has no name) and a field, or an element of list. */
export function pathOf(names: string[], indexes: number[], depth: number, list: string, name: FieldName): string {
  const parts: string[] = [];
  for (let i = 1; i < depth; i++) {
    parts.push(indexes[i]! < 0 ? names[i]! : `${names[i]!}[${indexes[i]!}]`);
  }
  if (name !== "") parts.push(typeof name === "number" ? `${list}[${name}]` : name);
  return parts.join(".");
}

/** A value in a message. */
export function show(v: unknown): string {
  if (typeof v === "object" && v) return Array.isArray(v) ? "an array" : "an object";
  return typeof v === "string" ? JSON.stringify(v.slice(0, 40)) : String(v) + (typeof v === "bigint" ? "n" : "");
}
