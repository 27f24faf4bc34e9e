/** A closed set of string literals with pinned int32 numbers. */
export interface EnumCodec<E extends string> {
  /** Name in the schema, for messages. */
  readonly name: string;
  /** Number of a literal, or of `unknown:7`; undefined when it is neither. */
  toNumber(literal: E): number | undefined;
  /** Literal of a number; `unknown:7` when this schema does not know it. */
  toLiteral(number: number): E;
}

/**
 * Makes the codec of an enum.
 * @param pairs every literal with its number, removed ones too
 */
export function defineEnum<E extends string>(name: string, pairs: readonly (readonly [string, number])[]): EnumCodec<E> {
  const numbers = new Map<string, number>(pairs);
  const literals = new Map<number, string>();
  const dense: (string | undefined)[] = [];
  for (const [literal, number] of pairs) {
    literals.set(number, literal);
    if (number === dense.length) dense.push(literal);
  }
  return {
    name,
    toNumber: (literal) => numbers.get(literal) ?? parseUnknown(literal),
    toLiteral: (number) => (dense[number] ?? literals.get(number) ?? `unknown:${number}`) as E,
  };
}

function parseUnknown(literal: unknown): number | undefined {
  if (typeof literal !== "string") return undefined;
  const digits = /^unknown:(0|-?[1-9]\d{0,9})$/.exec(literal)?.[1];
  const number = Number(digits);
  return digits !== undefined && number === (number | 0) ? number : undefined;
}
