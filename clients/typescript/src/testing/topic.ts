import { refOf } from "../topic.js";
import type { EventDescriptor } from "../wire/index.js";

/** Events a topic keeps. */
const KEPT = 1024;

/** A frame of a topic with its place; without one it is not retained. */
export interface Placed {
  readonly frame: Uint8Array;
  readonly trailer: { readonly ref: bigint; readonly offset: number } | undefined;
}

/** What a join gets: the position before the first frame that follows. */
export interface Joined {
  readonly offset: number;
  readonly recovered: boolean;
  readonly frames: readonly Placed[];
}

interface Kept {
  readonly offset: number;
  readonly frame: Uint8Array;
  /** Event and key of an event of which the newest value is kept. */
  readonly slot: string | undefined;
}

/** A topic and its history. */
export class Topic {
  readonly name: string;
  readonly epoch: string;
  readonly #ref: bigint;
  #head = 0;
  /** Highest offset that is not kept any more. */
  #lost = 0;
  #kept: Kept[] = [];

  constructor(name: string, epoch: string) {
    this.name = name;
    this.epoch = epoch;
    this.#ref = refOf(epoch, name);
  }

  /** Gives an event its place. */
  add<T>(event: EventDescriptor<T>, value: T, frame: Uint8Array): Placed {
    if (event.retain === "none") return { frame, trailer: undefined };
    const offset = ++this.#head;
    const slot = event.retain === "latest" && event.key !== undefined ? `${event.id} ${String(value[event.key as keyof T])}` : undefined;
    if (slot !== undefined) this.#kept = this.#kept.filter((k) => k.slot !== slot);
    this.#kept.push({ offset, frame, slot });
    if (this.#kept.length > KEPT) this.#lost = this.#kept.shift()!.offset;
    return this.#place({ offset, frame });
  }

  /** What a subscriber gets that was at this place; -1 is live, "" and 0 all that is kept. */
  join(epoch: string, offset: number, limit: number): Joined {
    const head = this.#head;
    if (offset < 0) return { offset: head, recovered: false, frames: [] };
    const continues = epoch === this.epoch && offset >= this.#lost && offset <= head;
    const after = this.after(continues ? offset : 0);
    const frames = after.slice(-(limit || KEPT));
    const whole = frames.length === after.length;
    const first = frames[0]?.trailer?.offset ?? head + 1;
    return { offset: continues && whole ? offset : first - 1, recovered: continues && whole, frames };
  }

  /** Where a member is. */
  get head(): number {
    return this.#head;
  }

  /** What is kept after an offset. */
  after(offset: number): Placed[] {
    return this.#kept.filter((k) => k.offset > offset).map((k) => this.#place(k));
  }

  #place({ offset, frame }: Pick<Kept, "offset" | "frame">): Placed {
    return { frame, trailer: { ref: this.#ref, offset } };
  }
}
