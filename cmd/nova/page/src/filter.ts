import { textOf, valueAt, type Column } from "./columns.ts";
import type { Values } from "./dynamic.ts";

/** Says whether a record is shown. */
export type Filter = (v: Values) => boolean;

/**
 * Reads the filter box: words that must all occur in some field, and
 * comparisons of one field such as `mag>4` or `status=reviewed`. A name that is
 * no field makes the comparison an ordinary word.
 */
export function parseFilter(text: string, columns: readonly Column[]): Filter {
  const tests = text
    .trim()
    .split(/\s+/)
    .filter((w) => w !== "")
    .map((word) => comparison(word, columns) ?? containing(word, columns));
  return (v) => tests.every((test) => test(v));
}

function containing(word: string, columns: readonly Column[]): Filter {
  const wanted = word.toLowerCase();
  return (v) => columns.some((c) => textOf(valueAt(v, c.path), c.field).toLowerCase().includes(wanted));
}

function comparison(word: string, columns: readonly Column[]): Filter | undefined {
  const parts = /^([\w.]+)(>=|<=|=|>|<)(.+)$/.exec(word);
  if (parts === null) return undefined;
  const name = parts[1]!.toLowerCase();
  const column =
    columns.find((c) => c.label.toLowerCase() === name) ??
    columns.find((c) => c.label.toLowerCase().endsWith(`.${name}`));
  if (column === undefined) return undefined;
  const operator = parts[2]!;
  const wanted = parts[3]!.toLowerCase();
  const number = Number(wanted);
  return (v) => {
    const value = valueAt(v, column.path);
    if (value === null || value === undefined) return false;
    if (operator === "=") return textOf(value, column.field).toLowerCase() === wanted || Number(value) === number;
    if (typeof value !== "number" && typeof value !== "bigint") return false;
    const n = Number(value);
    if (operator === ">") return n > number;
    if (operator === "<") return n < number;
    return operator === ">=" ? n >= number : n <= number;
  };
}
