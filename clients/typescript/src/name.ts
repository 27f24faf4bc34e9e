import { NovaError } from "./error.js";
import { utf8 } from "./wire/text.js";

/**
 * Checks a topic or group name: 1–255 bytes of UTF-8 without control characters.
 * @throws NovaError invalid
 */
export function checkName(kind: "topic" | "group", name: string): void {
  const why = name === ""
    ? "is empty"
    : /[\p{Cc}\p{Cs}]/u.test(name)
      ? "holds control characters or lone surrogates"
      : utf8(name).length > 255 && "is longer than 255 bytes";
  if (why) throw new NovaError("invalid", `${kind} ${JSON.stringify(name)} ${why}`);
}
