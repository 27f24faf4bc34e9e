import type { Value, Values } from "./dynamic.ts";
import { moment } from "./format.ts";
import type { Field, Layout } from "./layout.ts";

/** One leaf of an event's table, such as `location.longitude`. */
export interface Column {
  label: string;
  path: readonly string[];
  field: Field;
  numeric: boolean;
}

/** Columns of one event; deeper objects stop here. */
const DEPTH = 4;
const COLUMNS = 64;

/** The leaves of a table, in the order of the schema. */
export function columnsOf(layout: Layout, table: string): Column[] {
  const columns: Column[] = [];
  const tables = new Map(layout.tables.map((t) => [t.name, t]));
  const walk = (name: string, path: readonly string[]) => {
    for (const field of tables.get(name)?.fields ?? []) {
      if (field.deprecated || field.kind === "uniontype" || columns.length >= COLUMNS) continue;
      const here = [...path, field.json];
      if (field.kind === "table" && !field.vector && !tables.get(field.type ?? "")?.box && here.length < DEPTH) walk(field.type ?? "", here);
      else columns.push({ label: here.join("."), path: here, field, numeric: isNumeric(field) });
    }
  };
  walk(table, []);
  return columns;
}

function isNumeric(f: Field): boolean {
  return !f.vector && !f.secret && /^(double|float|u?int(8|16|32|64))$/.test(f.kind ?? "") && !isTime(f);
}

/** Whether an integer is named like a moment: ts, time, updated, createdAt … */
function isTime(f: Field): boolean {
  return f.kind === "int64" && !f.vector && /^(ts|when|updated|created)$|time(stamp)?$|(At|_at)$/i.test(f.json);
}

/** The value at the end of a path; undefined when something on the way is missing. */
export function valueAt(v: Values, path: readonly string[]): Value {
  let at: Value = v;
  for (const name of path) {
    if (typeof at !== "object" || at === null || Array.isArray(at) || at instanceof Uint8Array) return undefined;
    at = at[name];
  }
  return at;
}

/** The text of a value as the page shows it; "" when there is none. */
export function textOf(value: Value, field: Field): string {
  if (value === null || value === undefined) return "";
  if (field.secret) return "***";
  if (typeof value === "number" && isTime(field) && value > 1e11 && value < 4e12) return moment(value);
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (Array.isArray(value)) {
    if (field.kind === "table") return `${value.length} × ${field.type}`;
    return value.map(String).join(", ");
  }
  return typeof value === "object" ? "{…}" : String(value);
}

/** Where an event of these columns stands on the map; undefined when it cannot. */
export interface Geography {
  longitude: Column;
  latitude: Column;
  /** Something like a magnitude. */
  size: Column | undefined;
}

const sizes = [/^mag(nitude)?$/i, /magnitude/i, /^(intensity|strength|force|severity|size|population|weight|value)$/i];

/** Finds longitude and latitude of one object, and a magnitude beside or above them. */
export function geographyOf(columns: readonly Column[]): Geography | undefined {
  for (const longitude of columns) {
    if (!longitude.numeric || !/^(longitude|lon|lng)$/i.test(last(longitude))) continue;
    const latitude = columns.find((c) => c.numeric && /^(latitude|lat)$/i.test(last(c)) && sameParent(c, longitude));
    if (latitude === undefined) continue;
    const size = sizes.map((s) => columns.find((c) => c.numeric && s.test(last(c)))).find((c) => c !== undefined);
    return { longitude, latitude, size };
  }
  return undefined;
}

function last(c: Column): string {
  return c.path[c.path.length - 1] ?? "";
}

function sameParent(a: Column, b: Column): boolean {
  return a.path.slice(0, -1).join("\0") === b.path.slice(0, -1).join("\0");
}
