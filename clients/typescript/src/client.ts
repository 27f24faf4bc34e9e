import * as control from "./control/index.js";
import { NovaError } from "./error.js";
import type { Gap } from "./gate.js";
import { Listeners } from "./handlers.js";
import type { Handle, Handler } from "./handlers.js";
import { Inbox } from "./inbox.js";
import type { Stats } from "./inbox.js";
import { Link } from "./link.js";
import { checkName } from "./name.js";
import type { Options } from "./options.js";
import { SendQueue } from "./queue.js";
import type { Status } from "./status.js";
import { Topics } from "./topic.js";
import type { SubscribeOptions, Subscription } from "./topic.js";
import { EncodeError, Writer } from "./wire/index.js";
import type { EventDescriptor } from "./wire/index.js";

const TOPICS = "topics/1";

/**
 * A client of one server. It keeps at most one socket, connects again after a
 * loss and restores topics and groups. Handlers run synchronously, in the order
 * of arrival; one that throws is reported to onError and harms nothing else.
 */
export class Client {
  readonly #link: Link;
  readonly #inbox: Inbox;
  readonly #queue: SendQueue;
  readonly #topics: Topics;
  readonly #writer = new Writer();
  readonly #statusListeners = new Listeners<[Status]>();
  readonly #errorListeners = new Listeners<[NovaError]>();
  readonly #gapListeners = new Listeners<[Gap]>();
  readonly #recoveredListeners = new Listeners<[boolean]>();
  readonly #ownGroups = new Set<string>();
  #givenGroups = new Set<string>();
  #caps: ReadonlySet<string> = new Set();
  #id = "";
  #rttMs: number | undefined;
  /** A resume was asked for at connect, and is not answered yet. */
  #resuming = false;

  /** @throws NovaError when the address or an option cannot work */
  constructor(url: string | URL, private readonly options: Options = {}) {
    this.#queue = new SendQueue(options.queue);
    this.#topics = new Topics({
      join: (topic) => this.#control(control.subscribe, { topic }),
      leave: (topic) => this.#control(control.unsubscribe, { topic }),
      joinAt: (id, topic, epoch, offset) => this.#control(control.novaSubscribe, { id, topic, epoch, offset, limit: 0 }),
      know: (event) => this.#inbox.know(event),
      error: (e) => this.#report(e),
    });
    this.#inbox = new Inbox(options, this.#topics, {
      error: (e) => this.#report(e),
      gap: (gap) => this.#gapListeners.emit((cause) => this.#threw("onGap", cause), gap),
      resume: (lastSeq) => this.#control(control.resume, { lastSeq }),
    });
    this.#link = new Link(url, options, {
      open: () => this.#opened(),
      frame: (view) => this.#inbox.push(view),
      text: () => this.#report(new NovaError("invalid", "the server sent a text message")),
      ping: () => this.#control(control.ping, { ts: Date.now() }),
      lost: () => this.#lost(),
      status: (status) => this.#changed(status),
      error: (e) => this.#report(e),
    });
    this.#inbox.control(control.hello, (m) => this.#hello(m));
    this.#inbox.control(control.welcome, (m) => this.#welcome(m));
    this.#inbox.control(control.pong, (m) => (this.#rttMs = Math.max(0, Date.now() - m.ts)));
    this.#inbox.control(control.resumed, (m) => this.#resumed(m));
    this.#inbox.control(control.novaSubscribed, (m) => this.#topics.subscribed(m));
    this.#inbox.control(control.novaRejected, (m) => this.#topics.rejected(m));
    this.#inbox.control(control.novaUnsubscribed, (m) => this.#topics.unsubscribed(m));
  }

  /** Where the client stands. */
  get status(): Status {
    return this.#link.status;
  }

  /** Identity the server gave to this connection; "" before the first welcome. */
  get clientId(): string {
    return this.#id;
  }

  /** Groups this connection is in: those the server named and those joined since. */
  get groups(): string[] {
    return [...new Set([...this.#givenGroups, ...this.#ownGroups])];
  }

  /** Round trip of the last ping in ms; undefined before the first pong. */
  get rtt(): number | undefined {
    return this.#rttMs;
  }

  /** Counters since the client was made. */
  get stats(): Readonly<Stats> {
    return this.#inbox.stats;
  }

  /**
   * Starts; does nothing when started.
   * @throws NovaError failed_precondition after close
   */
  connect(): void {
    this.#link.start();
  }

  /** Ends for good: closes the socket, fails what waits to be sent. */
  close(): void {
    this.#link.close();
  }

  /** Closes the socket and keeps everything else; `resume` connects again. */
  pause(): void {
    this.#link.pause();
  }

  /** Connects again after `pause`. */
  resume(): void {
    this.#link.start();
  }

  /** Calls handler for every event of that kind. */
  on<T>(event: EventDescriptor<T>, handler: Handler<T>): Handle {
    this.#inbox.know(event);
    return this.#inbox.handlers.on(event, handler);
  }

  /** Calls handler for the next event of that kind only. */
  once<T>(event: EventDescriptor<T>, handler: Handler<T>): Handle {
    this.#inbox.know(event);
    return this.#inbox.handlers.on(event, handler, true);
  }

  /** Takes a handler away, or all handlers of that event. */
  off<T>(event: EventDescriptor<T>, handler?: Handler<T>): void {
    this.#inbox.handlers.off(event, handler);
  }

  /**
   * Calls handler for every event, internal ones aside. The value of events no
   * schema knows is undefined; `meta.raw` holds their bytes.
   */
  onAny(handler: Handler<unknown>): Handle {
    return this.#inbox.handlers.onAny(handler);
  }

  /**
   * Sends an event. It waits, bounded, while there is no connection. The promise
   * resolves when the frame was handed to a socket, which does not prove that it
   * arrived. It may be ignored: failures go to onError too.
   * Rejects with NovaError invalid (the value does not fit), exhausted (too much
   * waits), unavailable (no connection for too long) or cancelled (closed).
   */
  send<T>(event: EventDescriptor<T>, value: NoInfer<T>): Promise<void> {
    const sent = this.#post(event, value);
    sent.catch((e: NovaError) => this.#report(e));
    return sent;
  }

  /**
   * Joins a topic; retained events follow. May be called before connect.
   * @throws NovaError invalid for a bad name
   */
  subscribe(topic: string, options: SubscribeOptions = {}): Subscription {
    checkName("topic", topic);
    this.#open();
    return this.#topics.subscribe(topic, options.from ?? "all");
  }

  /** Leaves a topic, whatever subscribes to it. */
  unsubscribe(topic: string): void {
    this.#topics.leave(topic);
  }

  /**
   * Joins a server-side group; joined again after every reconnect.
   * @throws NovaError invalid for a bad name
   */
  joinGroup(group: string): void {
    checkName("group", group);
    this.#open();
    this.#ownGroups.add(group);
    if (this.status.state === "connected") this.#control(control.joinGroup, { group });
  }

  /** Leaves a server-side group. */
  leaveGroup(group: string): void {
    this.#ownGroups.delete(group);
    this.#givenGroups.delete(group);
    if (this.status.state === "connected") this.#control(control.leaveGroup, { group });
  }

  /**
   * Asks for the retained events of a topic strictly after an offset.
   * @param fromSeq 0 = everything retained
   * @throws NovaError invalid for a bad name
   */
  snapshot(topic: string, fromSeq = 0): Promise<void> {
    checkName("topic", topic);
    return this.send(control.snapshotRequest, { topic, fromSeq });
  }

  /** Calls listener on every change of status. */
  onStatus(listener: (status: Status) => void): Handle {
    return this.#statusListeners.add(listener);
  }

  /** Calls listener for everything that went wrong. Without one, console.error is used. */
  onError(listener: (error: NovaError) => void): Handle {
    return this.#errorListeners.add(listener);
  }

  /** Calls listener for delivery numbers that never arrived. */
  onGap(listener: (gap: Gap) => void): Handle {
    return this.#gapListeners.add(listener);
  }

  /** Calls listener after a reconnect: true when nothing was missed meanwhile. */
  onRecovered(listener: (recovered: boolean) => void): Handle {
    return this.#recoveredListeners.add(listener);
  }

  #open(): void {
    if (this.status.state === "closed") throw new NovaError("failed_precondition", "the client is closed");
  }

  #encode<T>(event: EventDescriptor<T>, value: T): Uint8Array {
    // A getter inside the value may send, too.
    const writer = this.#writer.busy ? new Writer() : this.#writer;
    try {
      return writer.frame(event.id, event.table, value);
    } catch (cause) {
      const why = cause instanceof EncodeError ? cause.message : String(cause);
      throw new NovaError("invalid", `event ${event.name}: ${why}`, { event: event.name, cause });
    }
  }

  async #post<T>(event: EventDescriptor<T>, value: T): Promise<void> {
    this.#open();
    const frame = this.#encode(event, value);
    if (this.status.state === "connected" && this.#queue.length === 0) {
      const waits = this.#link.buffered;
      if (waits > 0 && waits + frame.length > this.#queue.maxBytes) {
        throw new NovaError("exhausted", `${waits} bytes wait in the socket`, { event: event.name });
      }
      if (this.#link.send(frame)) return;
    }
    return this.#queue.push(frame);
  }

  #control<T>(event: EventDescriptor<T>, value: T): void {
    this.#link.send(this.#encode(event, value));
  }

  #opened(): void {
    const { schema } = this.options;
    const caps = schema === undefined ? [TOPICS] : [TOPICS, `schema/${schema.fingerprint}`];
    const lastSeq = this.#inbox.lastSeq;
    this.#caps = new Set();
    this.#resuming = lastSeq > 0;
    this.#control(control.hello, { version: 2, caps, lastSeq });
  }

  #hello(m: control.Hello): void {
    if (m.version !== 2) return this.#link.stop(`wire version mismatch: the server has ${m.version}, want 2`);
    this.#caps = new Set(m.caps);
    const own = this.options.schema?.fingerprint;
    const theirs = m.caps.filter((cap) => cap.startsWith("schema/"));
    if (own !== undefined && theirs.length > 0 && !theirs.includes(`schema/${own}`)) {
      this.#inbox.once("schema", () => new NovaError("failed_precondition", `the server has ${theirs.join(", ")}, this client schema/${own}; what they do not share is skipped`));
    }
  }

  #welcome(m: control.Welcome): void {
    this.#id = m.clientId;
    this.#givenGroups = new Set(m.groups);
    this.#topics.restore(this.#caps.has(TOPICS));
    for (const group of this.#ownGroups) this.#control(control.joinGroup, { group });
    this.#queue.flush((frame) => this.#link.send(frame));
    this.#link.welcomed();
  }

  #resumed(m: control.Resumed): void {
    if (this.#resuming) {
      this.#resuming = false;
      this.#recoveredListeners.emit((cause) => this.#threw("onRecovered", cause), m.ok);
    } else {
      this.#inbox.resumed(m.ok);
    }
  }

  #lost(): void {
    this.#topics.lost();
    this.#inbox.lost();
    this.#resuming = false;
  }

  #changed(status: Status): void {
    if (status.state === "closed") this.#queue.clear(new NovaError("cancelled", `the client is closed: ${status.reason ?? ""}`));
    this.#statusListeners.emit((cause) => this.#threw("onStatus", cause), status);
  }

  #threw(where: string, cause: unknown): void {
    this.#report(new NovaError("internal", `a listener of ${where} threw: ${String(cause)}`, { cause }));
  }

  #report(e: NovaError): void {
    if (this.#errorListeners.size === 0) console.error(e);
    else this.#errorListeners.emit((cause) => console.error(cause), e);
  }
}

/** Makes a client that does not connect yet. */
export function createClient(url: string | URL, options: Options = {}): Client {
  return new Client(url, options);
}

/** Makes a client and starts it. */
export function connect(url: string | URL, options: Options = {}): Client {
  const client = new Client(url, options);
  client.connect();
  return client;
}
