import { NovaError } from "./error.js";
import { GapGate } from "./gate.js";
import type { Gap } from "./gate.js";
import { Handlers } from "./handlers.js";
import type { Meta } from "./handlers.js";
import type { Options } from "./options.js";
import type { Topic, Topics } from "./topic.js";
import { DecodeError, FrameError, Reader, parseHeader, parseTrailer } from "./wire/index.js";
import type { EventDescriptor, Header } from "./wire/index.js";

/** Counters of received frames. */
export interface Stats {
  /** Frames, control frames included. */
  frames: number;
  bytes: number;
  /** Frames that broke the envelope or whose payload is malformed. */
  undecodable: number;
  /** Frames of events no schema knows. */
  unknown: number;
  /** Topic frames of topics that are not joined, or delivered before. */
  stale: number;
}

/** What the inbox tells its client. */
export interface InboxEvents {
  error(e: NovaError): void;
  gap(gap: Gap): void;
  resume(lastSeq: number): void;
}

interface Numbered {
  view: DataView;
  header: Header;
}

/** Takes received frames apart and hands their values to handlers, in order. */
export class Inbox {
  readonly handlers = new Handlers();
  readonly stats: Stats = { frames: 0, bytes: 0, undecodable: 0, unknown: 0, stale: 0 };
  readonly #gate: GapGate<Numbered>;
  readonly #known = new Map<number, EventDescriptor<any>>();
  readonly #controls = new Map<number, { event: EventDescriptor<any>; handle: (m: any) => void }>();
  readonly #reader: Reader;
  readonly #told = new Set<string>();
  #unsafe: string[] = [];

  constructor(options: Options, private readonly topics: Topics, private readonly events: InboxEvents) {
    this.#gate = new GapGate(options.gate ?? {}, {
      deliver: ({ view, header }) => this.#deliver(view, header),
      resume: (lastSeq) => this.events.resume(lastSeq),
      gap: (gap) => this.events.gap(gap),
    });
    this.#reader = new Reader(options.int64 === "error" ? undefined : (path) => this.#unsafe.push(path));
    for (const event of options.schema?.events ?? []) this.know(event);
  }

  /** Last delivery number seen; survives reconnects. */
  get lastSeq(): number {
    return this.#gate.counter;
  }

  /** Makes an event decodable. */
  know(event: EventDescriptor<any>): void {
    this.#known.set(event.id, event);
  }

  /** Handles a control event, which no application handler sees. */
  control<T>(event: EventDescriptor<T>, handle: (m: T) => void): void {
    this.#controls.set(event.id, { event, handle });
  }

  /** The connection is gone: what is held behind a hole is forgotten. */
  lost(): void {
    this.#gate.reset();
  }

  /** The server answered a request to fill a hole. */
  resumed(ok: boolean): void {
    this.#gate.resumed(ok);
  }

  /** Reports an error of that key unless it was reported before. */
  once(key: string, make: () => NovaError): void {
    if (this.#told.has(key)) return;
    this.#told.add(key);
    this.events.error(make());
  }

  /** Takes one message. */
  push(view: DataView): void {
    this.stats.frames++;
    this.stats.bytes += view.byteLength;
    let header: Header;
    try {
      header = parseHeader(view);
    } catch (cause) {
      return this.#undecodable("", cause as FrameError);
    }
    if (header.seq === 0) return this.#deliver(view, header);
    if (header.seq === Infinity) return this.#undecodable("", new FrameError("size", "delivery number beyond 2^53"));
    this.#gate.push(header.seq, { view, header });
  }

  #deliver(view: DataView, header: Header): void {
    const control = this.#controls.get(header.id);
    if (control === undefined) return this.#application(view, header);
    const m = this.#decode(control.event, view, header);
    if (m !== undefined) control.handle(m.value);
  }

  #application(view: DataView, header: Header): void {
    let topic: Topic | undefined;
    let meta: Meta;
    const event = this.#known.get(header.id);
    const { id, seq } = header;
    if (header.trailer) {
      const { ref, offset } = parseTrailer(view, header);
      topic = this.topics.find(ref);
      if (topic === undefined || offset === Infinity || !this.topics.advance(topic, offset)) {
        this.stats.stale++;
        return;
      }
      meta = { event: event?.name ?? "", id, seq, topic: topic.name, offset };
    } else {
      meta = { event: event?.name ?? "", id, seq };
    }
    if (event === undefined) return this.#unknown(view, header, meta);
    const any = !event.internal;
    const members = this.topics.audience(topic);
    if (!this.handlers.wants(id, any) && !members.some((h) => h.wants(id, any))) return;
    const decoded = this.#decode(event, view, header);
    if (decoded === undefined) return;
    const thrown = (cause: unknown) => this.#threw(event.name, cause);
    this.handlers.dispatch(id, decoded.value, meta, any, thrown);
    for (const handlers of members) handlers.dispatch(id, decoded.value, meta, any, thrown);
  }

  #unknown(view: DataView, header: Header, meta: Meta): void {
    this.stats.unknown++;
    const raw = new Uint8Array(view.buffer, view.byteOffset + header.start, header.end - header.start).slice();
    this.once(`id ${header.id}`, () => new NovaError("unimplemented", `unknown event id 0x${header.id.toString(16)}; is this schema older than the server's?`));
    // No event has a negative id: only onAny handlers see it.
    this.handlers.dispatch(-1, undefined, { ...meta, raw }, true, (cause) => this.#threw("", cause));
  }

  #decode<T>(event: EventDescriptor<T>, view: DataView, header: Header): { value: T } | undefined {
    let value: T;
    try {
      value = this.#reader.payload(view, header.start, header.end, event.table);
    } catch (cause) {
      this.#unsafe = [];
      this.#undecodable(event.name, cause);
      return undefined;
    }
    if (this.#unsafe.length > 0) this.#warn(event.name);
    return { value };
  }

  #warn(event: string): void {
    const paths = this.#unsafe;
    this.#unsafe = [];
    for (const path of paths) {
      const field = path.replace(/\[\d+\]/g, "[]");
      this.once(`int64 ${event}.${field}`, () => new NovaError("invalid", `event ${event}: ${path}: rounded, the integer is beyond 2^53; declare the field as bigint`, { event }));
    }
  }

  #undecodable(event: string, cause: unknown): void {
    this.stats.undecodable++;
    const what = cause instanceof DecodeError || cause instanceof FrameError ? cause.message : String(cause);
    this.events.error(new NovaError("invalid", event === "" ? what : `event ${event}: ${what}`, { event: event || undefined, cause }));
  }

  #threw(event: string, cause: unknown): void {
    this.events.error(new NovaError("internal", `a handler of ${event || "onAny"} threw: ${String(cause)}`, { event: event || undefined, cause }));
  }
}
