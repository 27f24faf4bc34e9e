// Answers questions, one JSON object a line: encode or decode one message with
// nova's generated TypeScript ("ours") or with npm's flatbuffers and the object
// API of flatc ("npm"). The first line gives the layout. Messages travel in a
// form that loses nothing: int64 as decimal text, doubles as 16 hex digits,
// bytes as base64, absent fields left out.
import { createInterface } from "node:readline";
import * as flatbuffers from "flatbuffers";
import { Reader, Writer } from "@ignex/nova-client/wire";
import * as npm from "npm";
import * as ours from "ours";

const BOOL = 1, INT64 = 2, FLOAT64 = 3, ENUM = 4, STRING = 5, BYTES = 6, STRUCT = 7;
const OPTIONAL = 1, NULLABLE = 2, OPTIONAL_NULLABLE = 3;

let layout;
const fields = (table) => layout.tables[table].Fields ?? []; // Go writes no fields as null
const writer = new Writer();
const reader = new Reader();
const tolerant = new Reader(() => {});

const bits = new DataView(new ArrayBuffer(8));
const fromBits = (hex) => (bits.setBigUint64(0, BigInt("0x" + hex)), bits.getFloat64(0));
const toBits = (x) => (bits.setFloat64(0, x), bits.getBigUint64(0).toString(16).padStart(16, "0"));
const camel = (name) => name.replace(/_+(.)/g, (_, c) => c.toUpperCase());

// The messages of nova's TypeScript: plain objects.
const plain = {
  one(f, x) {
    switch (f.Kind) {
      case INT64: return f.BigInt ? BigInt(x) : Number(x);
      case FLOAT64: return fromBits(x);
      case ENUM: return layout.enums[f.Ref].Values.find((v) => v.Number === x)?.Literal ?? `unknown:${x}`;
      case BYTES: return new Uint8Array(Buffer.from(x, "base64"));
      case STRUCT: return plain.table(f.Ref, x);
      default: return x;
    }
  },
  table(index, exact) {
    const v = {};
    for (const f of fields(index)) {
      if (f.Deprecated) continue;
      const x = exact[f.Name];
      if (x !== undefined) v[f.JSON] = f.Vector ? x.map((e) => plain.one(f, e)) : plain.one(f, x);
      else if (f.Presence === NULLABLE) v[f.JSON] = null;
    }
    return v;
  },
  exactOne(f, x) {
    switch (f.Kind) {
      case INT64:
        if (typeof x !== (f.BigInt ? "bigint" : "number")) throw new Error(`${f.JSON} is a ${typeof x}`);
        return x.toString();
      case FLOAT64: return toBits(x);
      case ENUM:
        return layout.enums[f.Ref].Values.find((v) => v.Literal === x)?.Number ?? Number(x.replace("unknown:", ""));
      case BYTES: return Buffer.from(x).toString("base64");
      case STRUCT: return plain.exact(f.Ref, x);
      default: return x;
    }
  },
  exact(index, v) {
    const out = {};
    const known = new Set();
    for (const f of fields(index)) {
      if (f.Deprecated) continue;
      known.add(f.JSON);
      const x = v[f.JSON];
      const absent = f.Presence === NULLABLE ? null : undefined;
      if (x === absent && f.Presence !== 0) continue;
      if (x === null || x === undefined) throw new Error(`${f.JSON} is ${x}`);
      out[f.Name] = f.Vector ? x.map((e) => plain.exactOne(f, e)) : plain.exactOne(f, x);
    }
    for (const key of Object.keys(v)) if (!known.has(key)) throw new Error(`unknown property ${key}`);
    return out;
  },
};

// The messages of flatc's object API: classes with a T at the end.
const object = {
  one(f, x) {
    switch (f.Kind) {
      case INT64: return BigInt(x);
      case FLOAT64: return fromBits(x);
      case BYTES: return [...Buffer.from(x, "base64")];
      case STRUCT: return object.table(f.Ref, x);
      default: return x;
    }
  },
  table(index, exact) {
    const v = new npm[layout.tables[index].Name + "T"]();
    for (const f of fields(index)) {
      const x = exact[f.Name];
      if (f.Deprecated || x === undefined) continue;
      const name = camel(f.Name);
      if (!(name in v)) throw new Error(`flatc's ${layout.tables[index].Name}T has no ${name}`);
      v[name] = f.Vector ? x.map((e) => object.one(f, e)) : object.one(f, x);
    }
    return v;
  },
  exactOne(f, x) {
    switch (f.Kind) {
      case INT64: return x.toString();
      case FLOAT64: return toBits(x);
      case BYTES: return Buffer.from(x).toString("base64");
      case STRUCT: return object.exact(f.Ref, x);
      default: return x;
    }
  },
  exact(index, v) {
    const out = {};
    for (const f of fields(index)) {
      const x = v[camel(f.Name)];
      if (f.Deprecated || x === null || x === undefined) continue;
      out[f.Name] = f.Vector ? x.map((e) => object.exactOne(f, e)) : object.exactOne(f, x);
    }
    return out;
  },
};

// flatc's classes leave out an optional 0 unless defaults are forced, and then
// write a wild offset for an absent reference.
class ForcedBuilder extends flatbuffers.Builder {
  constructor() {
    super();
    this.forceDefaults(true);
  }
  addFieldOffset(slot, offset, absent) {
    if (offset !== 0) super.addFieldOffset(slot, offset, absent);
  }
}

// The codecs of nova's tables by name: those of events and calls. Tables made
// from text are called by it; they are found by their properties.
function codecs() {
  const found = new Map();
  for (const e of ours.schema.events) found.set(e.table.name.replace(/:\w+/g, ""), e.table);
  for (const c of ours.schema.calls) found.set(c.request.name, c.request).set(c.response.name, c.response);
  return found;
}

function answer(q) {
  if (q.tables) {
    layout = q;
    return {};
  }
  const name = layout.tables[q.table].Name;
  const properties = fields(q.table).map((f) => f.JSON).join(" ");
  const table = codecs().get(name) ?? codecs().get(properties);
  const bytes = q.hex === undefined ? undefined : new Uint8Array(Buffer.from(q.hex, "hex"));
  switch (q.op) {
    case "encode":
      return { hex: Buffer.from(writer.payload(table, plain.table(q.table, q.value))).toString("hex") };
    case "decode": {
      // Inside a larger buffer, at an odd address: nothing around it may be read.
      const around = new Uint8Array(bytes.length + 30).fill(0xee);
      around.set(bytes, 15);
      return { value: plain.exact(q.table, reader.payload(new DataView(around.buffer, 0), 15, 15 + bytes.length, table)) };
    }
    case "check": {
      // Only whether it can be read; unsafe integers are no failure here.
      tolerant.payload(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length, table);
      return {};
    }
    case "npm-encode": {
      const builder = new ForcedBuilder();
      builder.finish(object.table(q.table, q.value).pack(builder), undefined, true);
      return { hex: Buffer.from(builder.asUint8Array()).toString("hex") };
    }
    case "npm-decode": {
      const buffer = new flatbuffers.ByteBuffer(bytes);
      return { value: object.exact(q.table, npm[name][`getSizePrefixedRootAs${name}`](buffer).unpack()) };
    }
  }
  throw new Error(`unknown operation ${q.op}`);
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  let result;
  try {
    result = answer(JSON.parse(line));
  } catch (e) {
    result = { error: String(e?.message ?? e) || "an error without text" };
  }
  process.stdout.write(JSON.stringify(result) + "\n");
}
