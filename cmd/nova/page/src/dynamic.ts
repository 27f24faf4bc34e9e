// The schema-driven decoder: frames of any schema become values without
// generated code. It runs over the client's verifying Reader, so it refuses what
// generated code refuses, with the same paths.
import {
  defineEnum,
  defineEvent,
  defineTable,
  EncodeError,
  readBigInt,
  readBigInts,
  readBools,
  readBytes,
  readEnum,
  readEnums,
  readFloat64s,
  readInt64s,
  type EnumCodec,
  type EventDescriptor,
  type Reader,
  type Schema,
  type Table,
} from "@ignex/nova-client/wire";
import type { Field, Layout, TableType } from "./layout.ts";

/** A decoded value: as generated code gives it, but without a type of its own. */
export type Value = boolean | number | bigint | string | Uint8Array | null | undefined | Value[] | Values;
export interface Values {
  [property: string]: Value;
}

/** Reads one field of the table that the reader has entered. */
type Read = (r: Reader) => Value;

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

  constructor(layout: Layout) {
    for (const e of layout.enums) {
      this.enums.set(e.name, defineEnum(e.name, e.values.map((v) => [v.literal, v.number] as const)));
    }
    for (const t of layout.tables) this.types.set(t.name, t);
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
      if (!f.deprecated) reads.push([f.json, this.field(f, id)]);
    });
    return table;
  }

  private field(f: Field, id: number): Read {
    const read = f.vector ? this.vector(f, id) : this.single(f, id);
    if (!f.optional && !f.nullable) return read;
    const absent = f.optional ? undefined : null;
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
        return (r) => r.struct(id, table, name);
      }
      default:
        throw new Error(`field ${name}: kind ${String(f.kind)} is unknown`);
    }
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
        return (r) => r.structs(id, table, name);
      }
      default:
        throw new Error(`field ${name}: a vector of ${String(f.kind)} is unknown`);
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
