import { NovaError, reasonOf, threw } from "./error.js";
import { GapGate } from "./gate.js";
import type { Gap } from "./gate.js";
import { ANY, Handlers } from "./handlers.js";
import type { Handle, Handler, Meta } from "./handlers.js";
import type { Options } from "./options.js";
import type { Session } from "./session.js";
import type { Topic, Topics } from "./topic.js";
import { Reader, parseHeader, parseTrailer } from "./wire/index.js";
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
  /** The server breaks the protocol. */
  violation(what: string): void;
}

/** Takes received frames apart and hands their values to handlers, in order. */
export class Inbox {
  readonly handlers = new Handlers();
  /** batch/1 is on: a message may hold several frames. */
  joined = false;
  readonly stats: Stats = { frames: 0, bytes: 0, undecodable: 0, unknown: 0, stale: 0 };
  /** Towards servers without sessions; its counter survives reconnects. */
  readonly gate: GapGate<Header>;
  readonly #known = new Map<number, EventDescriptor<any>>();
  readonly #controls = new Map<number, { event: EventDescriptor<any>; handle: (m: any) => unknown }>();
  readonly #reader: Reader;
  /** Rounds what is too large for a number: who takes it judges. */
  readonly #controlReader = new Reader(() => {});
  readonly #told = new Set<string>();
  /** Name of the event being decoded. */
  #decoding = "";

  readonly #session: Session;
  readonly #topics: Topics;
  readonly #events: InboxEvents;

  constructor(options: Options, session: Session, topics: Topics, events: InboxEvents) {
    this.#session = session;
    this.#topics = topics;
    this.#events = events;
    this.gate = new GapGate(options.gate ?? {}, { ...events, deliver: (frame) => this.#deliver(frame) });
    this.#reader = new Reader(options.int64 === "error" ? undefined : (path) => this.#rounded(path));
    for (const event of options.schema?.events ?? []) this.know(event);
  }

  /** Calls handler for every event of that kind, or only for the next. */
  on<T>(event: EventDescriptor<T>, handler: Handler<T>, once = false): Handle {
    this.know(event);
    return this.handlers.add(event.id, handler, once);
  }

  /** Makes an event decodable. */
  know(event: EventDescriptor<any>): void {
    this.#known.set(event.id, event);
  }

  /** Handles a control event, which no application handler sees; handle returns false when the server breaks the protocol. */
  control<T>(event: EventDescriptor<T>, handle: (m: T) => unknown): void {
    this.#controls.set(event.id, { event, handle });
  }

  /** Reports an error of that key unless it was reported before. */
  once(key: string, make: () => NovaError): void {
    if (this.#told.has(key)) return;
    this.#told.add(key);
    this.#events.error(make());
  }

  /** Takes one message; behind an undecodable envelope nothing of it is sure to be a frame. */
  push(view: DataView): void {
    const stats = this.stats;
    const session = this.#session;
    let at = 0;
    stats.bytes += view.byteLength;
    do {
      stats.frames++;
      let frame: Header;
      try {
        frame = parseHeader(view, at, this.joined);
      } catch (cause) {
        return this.#undecodable("", cause);
      }
      const { seq } = frame;
      at = frame.next;
      if (seq === 0) this.#deliver(frame);
      else if (seq === Infinity) return this.#undecodable("", "delivery number beyond 2^53");
      else if (!session.on) this.gate.push(seq, frame);
      else if (session.attached) {
        if (!session.push(seq, seq)) return this.#events.violation(`delivery number ${seq} out of order`);
        this.#deliver(frame);
        session.delivered();
      }
    } while (this.joined && at < view.byteLength); // a handler may have ended the connection
  }

  #deliver(frame: Header): void {
    const control = this.#controls.get(frame.id);
    if (!control) return this.#application(frame);
    const { event, handle } = control;
    const m = this.#decode(this.#controlReader, event, frame);
    if (m && handle(m) === false) this.#events.violation(`impossible ${event.name}`);
  }

  #application(frame: Header): void {
    const { id, seq } = frame;
    const event = this.#known.get(id);
    const meta: { -readonly [K in keyof Meta]: Meta[K] } = { event: event?.name ?? "", id, seq };
    let topic: Topic | undefined;
    if (frame.trailer) {
      topic = this.#topics.place(parseTrailer(frame.view, frame));
      if (!topic) {
        this.stats.stale++;
        return;
      }
      meta.topic = topic.name;
      meta.offset = topic.position!.offset;
    }
    if (!event) return this.#unknown(frame, meta);
    const any = !event.internal;
    const all = [this.handlers, ...this.#topics.audience(topic)];
    if (!all.some((h) => h.wants(id)) && !(any && this.handlers.wants(ANY))) return;
    const value = this.#decode(this.#reader, event, frame);
    if (!value) return;
    for (const h of all) h.dispatch(id, value, (cause) => this.#threw(event.name, cause), meta, any && h === this.handlers);
  }

  #unknown({ view, id, start, end }: Header, meta: Meta): void {
    this.stats.unknown++;
    const raw = new Uint8Array(view.buffer.slice(view.byteOffset + start, view.byteOffset + end));
    this.once(`id ${id}`, () => new NovaError("unimplemented", `unknown event id 0x${id.toString(16)}: is the schema too old?`));
    this.handlers.dispatch(ANY, undefined, (cause) => this.#threw(undefined, cause), { ...meta, raw });
  }

  /** The value, an object; undefined when it is malformed, which is told. */
  #decode<T>(reader: Reader, event: EventDescriptor<T>, { view, start, end }: Header): T | undefined {
    this.#decoding = event.name;
    try {
      return reader.payload(view, start, end, event.table);
    } catch (cause) {
      this.#undecodable(event.name, cause);
      return undefined;
    }
  }

  #rounded(path: string): void {
    const event = this.#decoding;
    const field = path.replace(/\[\d+\]/g, "[]");
    this.once(`int64 ${event}.${field}`, () => new NovaError("invalid", `event ${event}: ${path}: rounded, the integer is beyond 2^53; declare the field as bigint`, { event }));
  }

  #undecodable(event: string, cause: unknown): void {
    this.stats.undecodable++;
    const where = event && `event ${event}: `;
    this.#events.error(new NovaError("invalid", where + reasonOf(cause), { event: event || undefined, cause }));
  }

  #threw(event: string | undefined, cause: unknown): void {
    this.#events.error(threw(`handler of ${event ?? "onAny"}`, cause, event));
  }
}
