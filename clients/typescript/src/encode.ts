import { NovaError, reasonOf } from "./error.js";
import type { EventDescriptor, Writer } from "./wire/index.js";

/**
 * Encodes a frame.
 * @throws NovaError invalid when the value does not fit
 */
export function encode<T>(writer: Writer, event: EventDescriptor<T>, value: T): Uint8Array {
  try {
    return writer.frame(event.id, event.table, value);
  } catch (cause) {
    throw new NovaError("invalid", `event ${event.name}: ${reasonOf(cause)}`, { event: event.name, cause });
  }
}
