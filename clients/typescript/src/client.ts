import * as control from "./control/index.js";
import { encode } from "./encode.js";
import { NovaError, threw } from "./error.js";
import { REASONS, type Gap, type Hole } from "./gate.js";
import { ANY, Handlers, type Handle, type Handler } from "./handlers.js";
import { Inbox, type Stats } from "./inbox.js";
import { Link } from "./link.js";
import { checkName } from "./name.js";
import type { Options } from "./options.js";
import { SendQueue } from "./queue.js";
import { Session, countable } from "./session.js";
import type { Status } from "./status.js";
import { Told } from "./told.js";
import { Topics, type SubscribeOptions, type Subscription } from "./topic.js";
import { Writer, type EventDescriptor } from "./wire/index.js";

const SESSION = "session/1";
const TOPICS = "topics/1";
const BATCH = "batch/1";

/** What modules beside the core build on, such as `/auth` and `/calls`. */
export interface Core {
  readonly options: Options;
  readonly queue: SendQueue;
  /** Handles a control event. */
  on<T>(event: EventDescriptor<T>, handle: (m: T) => unknown): void;
  /** Sends a control event, when there is a socket. */
  send<T>(event: EventDescriptor<T>, value: T): void;
  error(e: NovaError): void;
  /** Asked for what is said in hello, too. */
  readonly caps: (() => string)[];
  /** The server says what it can, before it is sent anything. */
  readonly greet: ((caps: readonly string[]) => void)[];
}

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
  readonly #notices = new Handlers();
  readonly #session = new Session((seq) => this.#control(control.novaAck, { seq }));
  readonly #ownGroups = new Set<string>();
  #givenGroups: readonly string[] = [];
  #welcomeGroups: readonly string[] = [];
  readonly #told = new Told(this.#writer, (frame) => this.#ready && this.#link.pace.send(frame));
  /** Snapshots to ask for. */
  readonly #asked = new Map<string, Uint8Array>();
  #positions = false;
  /** The connection takes what the application has to say. */
  #ready = false;
  #id = "";
  #rttMs: number | undefined;
  /** A resume was asked for at connect, and is not answered yet. */
  #resuming = false;
  /** The capability that names our schema. */
  readonly #schema: string | undefined;
  /** @internal */
  readonly core: Core;

  /** @throws NovaError when the address or an option cannot work */
  constructor(url: string | URL, { ...options }: Options = {}) {
    this.#schema = options.schema && `schema/${options.schema.fingerprint}`;
    this.#queue = new SendQueue(options.queue, (frame) => this.#ready && this.#link.pace.room() && this.#link.pace.send(frame));
    const events = {
      know: (event: EventDescriptor<any>) => this.#inbox.know(event),
      error: (e: NovaError) => this.#report(e),
      gap: (gap: Hole) => this.missing(gap),
      resume: (lastSeq: number) => this.#control(control.resume, { lastSeq }),
      violation: (what: string) => this.#link.finish(`the server broke the protocol: ${what}`, 1002),
      open: () => {
        const lastSeq = this.#inbox.gate.counter;
        this.#resuming = lastSeq > 0;
        this.#control(control.hello, { version: 2, caps: [SESSION, TOPICS, BATCH, this.#schema!, ...this.core.caps.map((cap) => cap())].filter(Boolean), lastSeq });
      },
      frame: (view: DataView) => this.#inbox.push(view),
      ping: () => this.#control(control.ping, { ts: Date.now() }),
      room: () => this.#queue.flush(),
      lost: () => {
        this.#ready = this.#inbox.joined = false;
        for (const part of [this.#topics, this.#session, this.#inbox.gate]) part.lost();
      },
      status: (status: Status) => {
        if (status.state === "closed") this.#queue.clear(`the client is closed: ${status.reason}`);
        this.#notify("onStatus", status);
      },
    };
    this.#topics = new Topics(this.#told, events);
    this.#inbox = new Inbox(options, this.#session, this.#topics, events);
    this.#link = new Link(url, options, events);
    const on = this.#inbox.control.bind(this.#inbox);
    this.core = { options, queue: this.#queue, on, send: (event, value) => this.#control(event, value), error: events.error, caps: [], greet: [] };
    on(control.hello, (m) => this.#hello(m));
    on(control.welcome, (m) => this.#welcome(m));
    on(control.pong, ({ ts }) => {
      this.#rttMs = Math.max(0, Date.now() - ts);
      this.#told.read(ts);
    });
    on(control.resumed, ({ ok }) => {
      if (this.#resuming) this.#notify("onRecovered", ok);
      else this.#inbox.gate.resumed(ok);
      this.#resuming = false;
    });
    on(control.novaSession, (m) => this.#attached(m));
    on(control.novaGap, (m) => this.#gap(m));
    on(control.novaAck, (m) => this.#queue.ack(m.seq));
    on(control.novaGoaway, (m) => this.#link.goaway(m.retryAfterMs));
    on(control.novaGroups, (m) => (this.#givenGroups = m.groups));
    on(control.novaSubscribed, (m) => this.#topics.subscribed(m));
    on(control.novaUnsubscribed, (m) => this.#topics.unsubscribed(m));
    on(control.novaRejected, (m) => {
      this.#ownGroups.delete(m.group);
      this.#topics.rejected(m);
    });
  }

  /** Where the client stands. */
  get status(): Status {
    return this.#link.status;
  }

  /** Identity the server gave to this connection; "" before the first welcome. */
  get clientId(): string {
    return this.#id;
  }

  /** Groups the client is in: those the server named, and where it does not tell changes those joined since. */
  get groups(): string[] {
    return [...new Set([...this.#givenGroups, ...(this.#session.name ? [] : this.#ownGroups)])];
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
    this.#open();
    this.#link.start();
  }

  /** Ends for good: closes the socket, fails what waits to be sent. */
  close(): void {
    this.#link.finish("closed by the client");
  }

  /** Closes the socket and keeps everything else, the session too; `resume` connects again. */
  pause(): void {
    this.#link.pause();
  }

  /** Connects again after `pause`. */
  resume(): void {
    this.connect();
  }

  /** Calls handler for every event of that kind. */
  on<T>(event: EventDescriptor<T>, handler: Handler<T>): Handle {
    return this.#inbox.on(event, handler);
  }

  /** Calls handler for the next event of that kind only. */
  once<T>(event: EventDescriptor<T>, handler: Handler<T>): Handle {
    return this.#inbox.on(event, handler, true);
  }

  /** Takes a handler away, or all handlers of that event. */
  off<T>(event: EventDescriptor<T>, handler?: Handler<T>): void {
    this.#inbox.handlers.off(event.id, handler);
  }

  /**
   * Calls handler for every event, internal ones aside. The value of events no
   * schema knows is undefined; `meta.raw` holds their bytes.
   */
  onAny(handler: Handler<unknown>): Handle {
    return this.#inbox.handlers.add(ANY, handler);
  }

  /**
   * Sends an event. It waits, bounded, while there is no connection. On servers
   * with sessions it is handled once, over any number of reconnects, and the
   * promise resolves when the server has acknowledged that, at most 2 s later; on
   * others when a socket has the frame, which does not prove that it arrived. It
   * may be ignored: failures go to onError too.
   * Rejects with NovaError invalid (the value does not fit), exhausted (too much
   * waits), unavailable (no connection for too long), cancelled (closed before it
   * was sent) or unknown_outcome (the session was lost before the server
   * acknowledged it: handled or not, nobody can tell).
   */
  send<T>(event: EventDescriptor<T>, value: NoInfer<T>): Promise<void> {
    const sent = this.#post(event, value);
    sent.catch((e: NovaError) => this.#report(e));
    return sent;
  }

  /**
   * Joins a topic; retained events follow. May be called before connect.
   * Later subscriptions of a topic share the first's, whose options count.
   * @throws NovaError invalid for a bad name or limit
   */
  subscribe(topic: string, options: SubscribeOptions = {}): Subscription {
    this.#check("topic", topic);
    return this.#topics.subscribe(topic, options);
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
    this.#check("group", group);
    this.#ownGroups.add(group);
    this.#join(group);
  }

  /** Leaves a server-side group. */
  leaveGroup(group: string): void {
    this.#ownGroups.delete(group);
    this.#givenGroups = this.#givenGroups.filter((g) => g !== group);
    this.#told.tell(`g${group}`, control.leaveGroup, { group });
  }

  /**
   * Asks for the retained events of a topic strictly after an offset, once there
   * is a connection. Asked again before that, the last call counts.
   * @param fromSeq 0 = everything retained
   * @throws NovaError invalid for a bad name or number
   */
  snapshot(topic: string, fromSeq = 0): void {
    this.#check("topic", topic);
    this.#asked.set(topic, encode(this.#writer, control.snapshotRequest, { topic, fromSeq }));
    this.#ask();
  }

  /** Calls listener on every change of status. */
  onStatus(listener: (status: Status) => void): Handle {
    return this.#notices.add("onStatus", listener);
  }

  /** Calls listener for everything that went wrong. Without one, console.error is used. */
  onError(listener: (error: NovaError) => void): Handle {
    return this.#notices.add("onError", listener);
  }

  /** Calls listener for what will never arrive; superseded events are no loss. */
  onGap(listener: (gap: Gap) => void): Handle {
    return this.#notices.add("onGap", listener);
  }

  /** Calls listener after a reconnect: true when everything missed follows or is told by onGap. */
  onRecovered(listener: (recovered: boolean) => void): Handle {
    return this.#notices.add("onRecovered", listener);
  }

  #check(kind: "topic" | "group", name: string): void {
    checkName(kind, name);
    this.#open();
  }

  #open(): void {
    if (this.status.state === "closed") throw new NovaError("failed_precondition", "the client is closed");
  }

  async #post<T>(event: EventDescriptor<T>, value: T): Promise<void> {
    this.#open();
    return this.#queue.push(encode(this.#writer, event, value), this.#link.socket?.bufferedAmount);
  }

  #control<T>(event: EventDescriptor<T>, value: T): void {
    this.#link.pace.send(encode(this.#writer, event, value));
  }

  #join(group: string): void {
    this.#told.tell(`g${group}`, control.joinGroup, { group });
  }

  #ask(): void {
    if (!this.#ready) return;
    for (const frame of this.#asked.values()) this.#link.pace.send(frame);
    this.#asked.clear();
  }

  #hello(m: control.Hello): void {
    if (m.version !== 2) return this.#link.finish(`wire version ${m.version}, want 2`, 1002);
    this.#positions = m.caps.includes(TOPICS);
    this.#inbox.joined = m.caps.includes(BATCH);
    const own = this.#schema;
    const theirs = m.caps.find((cap) => cap.startsWith("schema/"));
    if (own && theirs && !m.caps.includes(own)) {
      this.#inbox.once("schema", () => new NovaError("failed_precondition", `the server has ${theirs}, this client ${own}`));
    }
    for (const greet of this.core.greet) greet(m.caps);
    const s = this.#session;
    s.on = m.caps.includes(SESSION);
    if (!s.on) return;
    this.#resuming = false;
    this.#control(control.novaAttach, { session: s.name, lastSeq: s.last, topics: this.#positions ? this.#topics.cursors(this.#queue.largest) : [] });
  }

  #welcome(m: control.Welcome): void {
    this.#id = m.clientId;
    this.#welcomeGroups = m.groups;
    if (this.#session.on) return; // nova.session says who this is
    const had = this.#session.name;
    this.#session.name = "";
    this.#begin();
    this.#start(0, 0);
    if (had) this.#notify("onRecovered", false);
  }

  /** The answer to attach, or the word that the session has changed; false when it cannot be. */
  #attached(m: control.Session): boolean {
    const s = this.#session;
    const again = s.attached;
    const had = s.name;
    if (!s.on) return true;
    if (!s.attach(m) || (m.recovered && !again && !this.#queue.ack(m.received))) return false;
    this.#id = m.clientId;
    if (!again) this.#link.pace.limit(m.rate, m.burst);
    if (!m.recovered) this.#begin(m.received);
    else if (!again) this.#topics.recovered();
    if (!again || !m.recovered) this.#start(m.heartbeatMs, m.maxMessage);
    if (had) this.#notify("onRecovered", m.recovered);
    return true;
  }

  /** A session begins, or a connection without one: nothing of the one before counts. */
  #begin(received = 0): void {
    this.#ready = false; // what is told goes in #start
    this.#queue.renew(received);
    this.#givenGroups = this.#welcomeGroups;
    this.#told.clear();
    this.#topics.restore(this.#positions);
    for (const group of this.#ownGroups) this.#join(group);
  }

  /** The connection takes what waits. */
  #start(heartbeatMs: number, largest: number): void {
    this.#ready = true;
    this.#told.again();
    this.#ask();
    this.#queue.start(this.#session.on, largest);
    this.#link.welcomed(heartbeatMs);
  }

  /** Takes the word of what will not come; false when it cannot be. */
  #gap({ topic, from, to, reason }: control.Gap): boolean {
    const s = this.#session;
    const why = REASONS[reason] ?? "lost";
    const next = s.last + 1;
    if (!countable(from, to) || to < from) return !s.on;
    if (topic !== "") this.#topics.gap({ topic, from, to, reason: why });
    else if (s.attached) {
      if (!s.push(from, to)) return false;
      this.missing({ from: next, to, reason: why });
      s.delivered();
    }
    return true;
  }

  /** @internal Tells onGap. */
  missing(gap: Hole): void {
    if (gap.reason !== "superseded") this.#notify("onGap", gap);
  }

  #notify(name: string, value: unknown): void {
    this.#notices.dispatch(name, value, (cause) => this.#report(threw(`listener of ${name}`, cause)));
  }

  #report(e: NovaError): void {
    if (this.#notices.wants("onError")) this.#notices.dispatch("onError", e, (cause) => console.error(cause));
    else console.error(e);
  }
}
