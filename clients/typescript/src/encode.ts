import { NovaError, reasonOf } from "./error.js";
import { Writer } from "./wire/index.js";
import type { EventDescriptor } from "./wire/index.js";

/**
 * Encodes a frame.
 * @param writer is used unless it is busy: a getter inside a value may send, too
 * @throws NovaError invalid when the value does not fit
 */
export function encode<T>(writer: Writer, event: EventDescriptor<T>, value: T): Uint8Array {
  try {
    return (writer.busy ? new Writer() : writer).frame(event.id, event.table, value);
  } catch (cause) {
    throw new NovaError("invalid", `event ${event.name}: ${reasonOf(cause)}`, { event: event.name, cause });
  }
}
