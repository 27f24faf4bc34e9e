// The schema-driven decoder: frames of any schema become values without
// generated code. It runs over the client's verifying Reader, so it refuses what
// generated code refuses, with the same paths.
import {
  defineEnum,
  defineEvent,
  defineTable,
  defineUnion,
  EncodeError,
  readBigInt,
  readBigInts,
  readBools,
  readBytes,
  readEnum,
  readEnums,
  readFloat64s,
  readFloat32,
  readFloat32s,
  readInt16,
  readInt16s,
  readInt32,
  readInt32s,
  readInt64s,
  readInt8,
  readInt8s,
  readUint16,
  readUint16s,
  readUint32,
  readUint32s,
  readUint64,
  readUint64s,
  readUint8,
  readUint8s,
  readUnion,
  type EnumCodec,
  type EventDescriptor,
  type Reader,
  type Schema,
  type Table,
  type UnionCodec,
} from "@ignex/nova-client/wire";
import type { Field, Kind, Layout, TableType, UnionType } from "./layout.ts";

/** A decoded value: as generated code gives it, but without a type of its own. */
export type Value = boolean | number | bigint | string | Uint8Array | null | undefined | Value[] | Values;
export interface Values {
  [property: string]: Value;
}

/** Reads one field of the table that the reader has entered. */
type Read = (r: Reader) => Value;

/** Readers of numbers besides int64 and double: of one, and of a vector. */
const numbers: Partial<Record<Kind, readonly [one: (r: Reader, id: number, name: string) => Value, all: (r: Reader, id: number, name: string) => Value[]]>> = {
  int8: [readInt8, readInt8s], int16: [readInt16, readInt16s], int32: [readInt32, readInt32s], uint8: [readUint8, readUint8s],
  uint16: [readUint16, readUint16s], uint32: [readUint32, readUint32s], uint64: [readUint64, readUint64s], float: [readFloat32, readFloat32s],
};

/** Makes a schema whose events decode by the layout alone. It cannot encode. */
export function dynamicSchema(layout: Layout): Schema & { readonly events: readonly EventDescriptor<Values>[] } {
  const tables = new Tables(layout);
  return {
    name: layout.package,
    fingerprint: layout.fingerprint,
    events: layout.events.map((e) =>
      defineEvent<Values>({ name: e.name, id: e.id, table: tables.get(e.table), internal: e.internal ?? false }),
    ),
    calls: [],
  };
}

class Tables {
  private readonly enums = new Map<string, EnumCodec<string>>();
  private readonly types = new Map<string, TableType>();
  private readonly made = new Map<string, Table<Values>>();
  private readonly unions = new Map<string, UnionType>();

  constructor(layout: Layout) {
    for (const e of layout.enums) {
      this.enums.set(e.name, defineEnum(e.name, e.values.map((v) => [v.literal, v.number] as const)));
    }
    for (const t of layout.tables) this.types.set(t.name, t);
    for (const u of layout.unions ?? []) this.unions.set(u.name, u);
  }

  get(name: string): Table<Values> {
    const known = this.made.get(name);
    if (known !== undefined) return known;
    const type = this.types.get(name);
    if (type === undefined) throw new Error(`table ${name} does not exist`);
    const reads: [property: string, read: Read][] = [];
    const table = defineTable<Values>({
      name,
      align: 4,
      inline: 4,
      offsets: [],
      absent: true,
      encode: () => {
        throw new EncodeError("", `${name}: a schema read from the server decodes only; use the generated module to send`);
      },
      decode: (r) => {
        const v: Values = {};
        for (const c of type.consts ?? []) put(v, c.json, c.value);
        for (const [property, read] of reads) {
          const value = read(r);
          if (value !== undefined) put(v, property, value);
        }
        return v;
      },
    });
    // Before its fields: tables may contain each other.
    this.made.set(name, table);
    type.fields.forEach((f, id) => {
      if (!f.deprecated && f.kind !== "uniontype") reads.push([f.json, this.field(f, id)]);
    });
    return table;
  }

  private field(f: Field, id: number): Read {
    const read = f.vector ? this.vector(f, id) : this.single(f, id);
    if (!f.optional && !f.nullable) return read;
    const absent = f.optional ? undefined : null;
    if (f.kind === "union") { // it looks at two fields
      const union = this.union(f);
      return (r) => readUnion<Values, null | undefined>(r, id, union, f.json, absent);
    }
    return (r) => (r.has(id) ? read(r) : absent);
  }

  private single(f: Field, id: number): Read {
    const name = f.json;
    switch (f.kind) {
      case "bool":
        return (r) => r.bool(id, name);
      case "int64":
        return f.bigint ? (r) => readBigInt(r, id, name) : (r) => r.int64(id, name);
      case "double":
        return (r) => r.float64(id, name);
      case "string":
        return (r) => r.string(id, name);
      case "bytes":
        return (r) => readBytes(r, id, name);
      case "enum": {
        const codec = this.codec(f);
        return (r) => readEnum(r, id, codec, name);
      }
      case "table": {
        const table = this.get(f.type ?? "");
        const open = this.opener(f);
        return (r) => open(r.struct(id, table, name));
      }
      case "union": {
        const union = this.union(f);
        return (r) => readUnion(r, id, union, name);
      }
      default: {
        const read = f.kind && numbers[f.kind]?.[0];
        if (!read) throw new Error(`field ${name}: kind ${String(f.kind)} is unknown`);
        return (r) => read(r, id, name);
      }
    }
  }

  /** What a table is the value of: itself, or of one that stands for its last field that field. */
  private opener(f: Field): (v: Values) => Value {
    const type = this.types.get(f.type ?? "");
    const last = type?.fields.at(-1)?.json ?? "";
    return type?.box ? (v) => v[last] : (v) => v;
  }

  private union(f: Field): UnionCodec<Values> {
    const u = this.unions.get(f.type ?? "");
    if (u === undefined) throw new Error(`field ${f.json}: union ${f.type} does not exist`);
    const members = u.members.map((m) => [m.id, "", this.get(m.table)] as const);
    return defineUnion<Values>(u.name, u.tag, members, u.zero ?? 0);
  }

  private vector(f: Field, id: number): Read {
    const name = f.json;
    switch (f.kind) {
      case "bool":
        return (r) => readBools(r, id, name);
      case "int64":
        return f.bigint ? (r) => readBigInts(r, id, name) : (r) => readInt64s(r, id, name);
      case "double":
        return (r) => readFloat64s(r, id, name);
      case "string":
        return (r) => r.strings(id, name);
      case "enum": {
        const codec = this.codec(f);
        return (r) => readEnums(r, id, codec, name);
      }
      case "table": {
        const table = this.get(f.type ?? "");
        const open = this.opener(f);
        if (!f.map) return (r) => r.structs(id, table, name).map(open);
        return (r) => {
          const v: Values = {};
          for (const entry of r.structs(id, table, name)) put(v, String(entry.key), entry.value);
          return v;
        };
      }
      default: {
        const read = f.kind && numbers[f.kind]?.[1];
        if (!read) throw new Error(`field ${name}: a vector of ${String(f.kind)} is unknown`);
        return (r) => read(r, id, name);
      }
    }
  }

  private codec(f: Field): EnumCodec<string> {
    const codec = this.enums.get(f.type ?? "");
    if (codec === undefined) throw new Error(`field ${f.json}: enum ${f.type} does not exist`);
    return codec;
  }
}

/** Sets a property of any name, `__proto__` too. */
function put(v: Values, property: string, value: Value): void {
  if (property === "__proto__") Object.defineProperty(v, property, { value, enumerable: true, writable: true, configurable: true });
  else v[property] = value;
}
