import { NovaError } from "./error.js";
import { utf8 } from "./wire/text.js";

/**
 * Checks a topic or group name: 1–255 bytes of UTF-8 without control characters.
 * @throws NovaError invalid
 */
export function checkName(kind: "topic" | "group", name: string): void {
  if (!name || /[\p{Cc}\p{Cs}]/u.test(name) || utf8(name).length > 255) {
    throw new NovaError("invalid", `${kind} ${JSON.stringify(name)} is not 1 to 255 bytes of UTF-8 without control characters`);
  }
}
