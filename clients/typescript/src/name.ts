import { NovaError } from "./error.js";

const encoder = /* #__PURE__ */ new TextEncoder();

/**
 * Checks a topic or group name: 1–255 bytes of UTF-8 without control characters.
 * @throws NovaError invalid
 */
export function checkName(kind: "topic" | "group", name: string): void {
  const wrong = (why: string): never => {
    throw new NovaError("invalid", `${kind} ${JSON.stringify(name)} ${why}`);
  };
  if (typeof name !== "string") wrong("is not a string");
  if (name === "") wrong("is empty");
  if (/[\p{Cc}\p{Cs}]/u.test(name)) wrong("holds control characters or lone surrogates");
  if (name.length > 255 || encoder.encode(name).length > 255) wrong("is longer than 255 bytes");
}
