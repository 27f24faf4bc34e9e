/** What is known about a delivered event beside its value. */
export interface Meta {
  /** Event name; "" when no schema knows the id. */
  readonly event: string;
  /** Event id on the wire. */
  readonly id: number;
  /** Delivery number; 0 = not numbered. */
  readonly seq: number;
  /** Topic, when the server tells it. */
  readonly topic?: string;
  /** Position in the topic, when the server tells it. */
  readonly offset?: number;
  /** Events no schema knows: the undecoded, size-prefixed FlatBuffer (a copy). */
  readonly raw?: Uint8Array;
}

/** Receives the values of one event. */
export type Handler<T> = (value: T, meta: Meta) => void;

/** What `on` returns: take the handler away again. */
export interface Handle {
  off(): void;
}

/** Called for what a handler threw. */
export type Thrown = (cause: unknown) => void;

/** An event id, or the name of a notice. */
export type Key = number | string;

/** In place of an event id: handlers of every event. */
export const ANY = -1;

interface Entry {
  handler: (value: any, meta: any) => void;
  once: boolean;
  active: boolean;
}

/**
 * The handlers of some events. Lists are replaced, never changed: a handler
 * added during a dispatch does not run in it, one removed does not run any more.
 */
export class Handlers {
  readonly #byKey = new Map<Key, readonly Entry[]>();

  add(key: Key, handler: Entry["handler"], once = false): Handle {
    const entry: Entry = { handler, once, active: true };
    this.#byKey.set(key, [...this.#list(key), entry]);
    return { off: () => this.off(key, entry) };
  }

  /** Removes one entry, those of a handler, or all of the key. */
  off(key: Key, which?: Entry | Entry["handler"]): void {
    const left = this.#list(key).filter((e) => which && e !== which && e.handler !== which || (e.active = false));
    if (left.length > 0) this.#byKey.set(key, left);
    else this.#byKey.delete(key);
  }

  /** Removes every handler. */
  clear(): void {
    for (const key of this.#byKey.keys()) this.off(key);
  }

  /** Reports whether anyone would be called. */
  wants(key: Key): boolean {
    return this.#byKey.has(key);
  }

  /** Calls the handlers of a key in the order they were added, then, with any, those of every event. */
  dispatch(key: Key, value: unknown, thrown: Thrown, meta?: Meta, any = false): void {
    const rest = any ? this.#list(ANY) : [];
    for (const list of [this.#list(key), rest]) {
      for (const entry of list) {
        if (!entry.active) continue;
        if (entry.once) this.off(key, entry);
        try {
          entry.handler(value, meta);
        } catch (cause) {
          thrown(cause);
        }
      }
    }
  }

  #list(key: Key): readonly Entry[] {
    return this.#byKey.get(key) ?? [];
  }
}
