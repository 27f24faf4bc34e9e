// A schema as plain data, as the server answers it at /schema.

/** The kind of one value: of a field, or of each element of a vector. */
export type Kind = "bool" | "int64" | "double" | "enum" | "string" | "bytes" | "table";

export interface Layout {
  package: string;
  fingerprint: string;
  enums: EnumType[];
  tables: TableType[];
  events: EventType[];
}

export interface EnumType {
  name: string;
  values: { literal: string; number: number; removed?: boolean }[];
}

export interface TableType {
  name: string;
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
  /** Name of the enum or table. */
  type?: string;
  vector?: boolean;
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

const kinds: ReadonlySet<unknown> = new Set<Kind>(["bool", "int64", "double", "enum", "string", "bytes", "table"]);

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
  for (const t of layout.tables) {
    for (const f of t.fields) {
      if (f.deprecated) continue;
      const at = `table ${t.name}, field ${f.json}`;
      if (!kinds.has(f.kind)) throw new Error(`${at}: kind ${String(f.kind)} is unknown`);
      if (f.kind === "enum" && !enums.has(f.type ?? "")) throw new Error(`${at}: enum ${f.type} does not exist`);
      if (f.kind === "table" && !tables.has(f.type ?? "")) throw new Error(`${at}: table ${f.type} does not exist`);
    }
    refuseEndless(t, tables, []);
  }
  for (const e of layout.events) {
    if (!tables.has(e.table)) throw new Error(`event ${e.name}: table ${e.table} does not exist`);
  }
  return layout;
}

/** A required table that is missing reads as one of zeros, so it must not require itself. */
function refuseEndless(t: TableType, tables: ReadonlyMap<string, TableType>, path: readonly string[]): void {
  if (path.includes(t.name)) throw new Error(`table ${t.name} requires itself`);
  for (const f of t.fields) {
    if (f.deprecated || f.kind !== "table" || f.vector || f.optional || f.nullable) continue;
    refuseEndless(tables.get(f.type ?? "")!, tables, [...path, t.name]);
  }
}
