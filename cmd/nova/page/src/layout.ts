// A schema as plain data, as the server answers it at /schema.

/** The kind of one value: of a field, or of each element of a vector. */
export type Kind =
  | "bool" | "int64" | "double" | "enum" | "string" | "bytes" | "table"
  | "int8" | "int16" | "int32" | "uint8" | "uint16" | "uint32" | "uint64" | "float"
  | "uniontype" | "union";

export interface Layout {
  package: string;
  fingerprint: string;
  enums: EnumType[];
  unions?: UnionType[];
  tables: TableType[];
  events: EventType[];
}

export interface EnumType {
  name: string;
  values: { literal: string; number: number; removed?: boolean }[];
}

export interface UnionType {
  name: string;
  /** The property that tells the members apart. */
  tag: string;
  members: { id: number; table: string }[];
  /** Index of the member that a missing union reads as. */
  zero?: number;
}

export interface TableType {
  name: string;
  /** It stands for its last field alone. */
  box?: boolean;
  /** Properties that are not on the wire. */
  consts?: { json: string; value: string | number | boolean }[];
  /** In the order of their ids, which are gapless from 0. */
  fields: Field[];
}

export interface Field {
  /** Name on the wire. */
  name: string;
  /** Property name. */
  json: string;
  /** Missing when deprecated. */
  kind?: Kind;
  /** Name of the enum, union or table. */
  type?: string;
  vector?: boolean;
  /** A vector of entries that is one object. */
  map?: boolean;
  optional?: boolean;
  nullable?: boolean;
  bigint?: boolean;
  secret?: boolean;
  deprecated?: boolean;
}

export interface EventType {
  name: string;
  id: number;
  table: string;
  internal?: boolean;
}

const kinds: ReadonlySet<unknown> = new Set<Kind>([
  "bool", "int64", "double", "enum", "string", "bytes", "table", "int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64", "float",
  "uniontype", "union",
]);

/**
 * Checks what /schema answered: every reference leads somewhere and no table
 * contains itself without an end.
 * @throws Error that names the place
 */
export function checkLayout(value: unknown): Layout {
  const layout = value as Layout;
  for (const list of ["enums", "tables", "events"] as const) {
    if (!Array.isArray(layout?.[list])) throw new Error(`the schema has no list of ${list}`);
  }
  const enums = new Set(layout.enums.map((e) => e.name));
  const tables = new Map(layout.tables.map((t) => [t.name, t]));
  const unions = new Map((layout.unions ?? []).map((u) => [u.name, u]));
  for (const u of unions.values()) {
    if (!Array.isArray(u.members) || u.members[u.zero ?? 0] === undefined) throw new Error(`union ${u.name} has no members`);
    for (const m of u.members) if (!tables.has(m.table)) throw new Error(`union ${u.name}: table ${m.table} does not exist`);
  }
  for (const t of layout.tables) {
    if (t.box && t.fields.at(-1)?.kind === undefined) throw new Error(`table ${t.name} stands for nothing`);
    for (const f of t.fields) {
      if (f.deprecated) continue;
      const at = `table ${t.name}, field ${f.json}`;
      if (!kinds.has(f.kind)) throw new Error(`${at}: kind ${String(f.kind)} is unknown`);
      if (f.kind === "enum" && !enums.has(f.type ?? "")) throw new Error(`${at}: enum ${f.type} does not exist`);
      if (f.kind === "table" && !tables.has(f.type ?? "")) throw new Error(`${at}: table ${f.type} does not exist`);
      if (f.kind === "union" && !unions.has(f.type ?? "")) throw new Error(`${at}: union ${f.type} does not exist`);
    }
    refuseEndless(t, tables, unions, []);
  }
  for (const e of layout.events) {
    if (!tables.has(e.table)) throw new Error(`event ${e.name}: table ${e.table} does not exist`);
  }
  return layout;
}

/** A required table that is missing reads as one of zeros, so it must not require itself. */
function refuseEndless(
  t: TableType, tables: ReadonlyMap<string, TableType>, unions: ReadonlyMap<string, UnionType>, path: readonly string[],
): void {
  if (path.includes(t.name)) throw new Error(`table ${t.name} requires itself`);
  for (const f of t.fields) {
    if (f.deprecated || f.vector || f.optional || f.nullable) continue;
    const union = f.kind === "union" ? unions.get(f.type ?? "") : undefined;
    const inner = tables.get((union ? union.members[union.zero ?? 0]?.table : f.kind === "table" ? f.type : "") ?? "");
    if (inner) refuseEndless(inner, tables, unions, [...path, t.name]);
  }
}
