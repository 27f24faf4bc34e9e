import { NovaError } from "./error.js";
import { utf8 } from "./wire/text.js";

/**
 * Checks a topic or group name: 1–255 bytes of UTF-8 without control characters.
 * @throws NovaError invalid
 */
export function checkName(kind: "topic" | "group", name: string): void {
  const why = wrong(name);
  if (why !== undefined) throw new NovaError("invalid", `${kind} ${JSON.stringify(name)} ${why}`);
}

function wrong(name: string): string | undefined {
  if (typeof name !== "string") return "is not a string";
  if (name === "") return "is empty";
  if (/[\p{Cc}\p{Cs}]/u.test(name)) return "holds control characters or lone surrogates";
  return utf8(name).length > 255 ? "is longer than 255 bytes" : undefined;
}
