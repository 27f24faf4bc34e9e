import * as control from "../control/index.js";
import { encode } from "../encode.js";
import { Reader, Writer, parseHeader } from "../wire/index.js";
import type { EventDescriptor, Header } from "../wire/index.js";
import type { Session } from "./session.js";
import type { MemorySocket } from "./socket.js";

/** What a connection asks of its server. */
export interface ConnectionEvents {
  /** The session of that name, or a new one. */
  attach(connection: Connection, name: string, seq: number): Session;
  cursor(session: Session, cursor: control.Cursor): void;
  subscribe(session: Session, m: control.TopicSubscribe): void;
  unsubscribe(session: Session, topic: string): void;
  snapshot(session: Session, m: control.SnapshotRequest): void;
  group(session: Session, group: string, member: boolean): void;
  application(session: Session, frame: Header): void;
  call(session: Session, m: control.Call): void;
  cancel(session: Session, id: number): void;
  reply(session: Session, m: control.Reply): void;
  /** The client said hello. */
  hello(connection: Connection, caps: readonly string[]): void;
  /** It brings a token. */
  token(connection: Connection, m: control.Auth): void;
  /** It may not be here. */
  refused(connection: Connection, code: number, reason: string): void;
  /** The client closed. */
  closed(connection: Connection, code: number): void;
  attached(): void;
  /** Puts a frame on its way. */
  send(socket: MemorySocket, frame: Uint8Array): void;
}

/** What is heard of a client that was not welcomed. */
const ENTRY = [control.hello.id, control.novaAuth.id];

/** The server's end of one socket. */
export class Connection {
  readonly socket: MemorySocket;
  session: Session | undefined;
  /** Whether more is heard than who it is; undefined: nothing any more. */
  admitted: boolean | undefined = false;
  readonly #events: ConnectionEvents;
  readonly #reader = new Reader();
  readonly #writer = new Writer();
  readonly #handlers = new Map<number, (frame: Header) => void>();

  constructor(socket: MemorySocket, events: ConnectionEvents) {
    this.socket = socket;
    this.#events = events;
    this.#on(control.hello, ({ caps }) => events.hello(this, caps));
    this.#on(control.novaAuth, (m) => events.token(this, m));
    this.#on(control.novaCall, (m, frame) => this.#with((s) => this.#numbered(s, frame, () => events.call(s, m))));
    this.#on(control.novaCancel, ({ id }) => this.#with((s) => events.cancel(s, id)));
    this.#on(control.novaReply, (m) => this.#with((s) => events.reply(s, m)));
    this.#on(control.novaAck, () => {});
    this.#on(control.novaAttach, (m) => this.#attach(m));
    this.#on(control.ping, ({ ts }) => this.session?.say(control.pong, { ts }));
    this.#on(control.novaSubscribe, (m) => this.#with((s) => events.subscribe(s, m)));
    this.#on(control.unsubscribe, (m) => this.#with((s) => events.unsubscribe(s, m.topic)));
    this.#on(control.snapshotRequest, (m) => this.#with((s) => events.snapshot(s, m)));
    this.#on(control.joinGroup, (m) => this.#with((s) => events.group(s, m.group, true)));
    this.#on(control.leaveGroup, (m) => this.#with((s) => events.group(s, m.group, false)));
    this.#on(control.rpcCall, (m) => {
      this.#with((s) => s.say(control.rpcResult, { id: m.id, ok: false, err: `no handler for ${m.name}`, payloadB64: "" }));
    });
  }

  /** Takes a message of the client: one frame, or several. */
  frame(data: Uint8Array): void {
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    for (let at = 0; at < view.byteLength; ) {
      const frame = parseHeader(view, at, true);
      at = frame.next;
      if (!this.admitted && (this.admitted === undefined || !ENTRY.includes(frame.id))) continue;
      const handle = this.#handlers.get(frame.id);
      if (handle) handle(frame);
      else this.#with((s) => this.#numbered(s, frame, () => this.#events.application(s, frame)));
    }
  }

  /** Tells something, session or not. */
  say<T>(event: EventDescriptor<T>, value: T): void {
    this.#events.send(this.socket, encode(this.#writer, event, value));
  }

  /** Ends it. */
  refuse(code: number, reason: string): void {
    this.admitted = undefined;
    this.#events.refused(this, code, reason);
  }

  closed(code: number): void {
    this.#events.closed(this, code);
  }

  #on<T>(event: EventDescriptor<T>, handle: (m: T, frame: Header) => void): void {
    this.#handlers.set(event.id, (frame) => handle(this.#reader.payload(frame.view, frame.start, frame.end, event.table), frame));
  }

  #with(fn: (session: Session) => void): void {
    if (this.session) fn(this.session);
  }

  #attach({ session: name, lastSeq, topics }: control.Attach): void {
    const s = this.#events.attach(this, name, lastSeq);
    const recovered = s.name === name;
    this.session = s;
    s.send = (frame) => this.#events.send(this.socket, frame);
    s.say(control.novaSession, {
      session: s.name, clientId: s.clientId, recovered, nextSeq: recovered ? lastSeq + 1 : s.nextSeq, missed: recovered ? s.nextSeq - 1 - lastSeq : -1,
      received: s.received, ttlMs: 60_000, heartbeatMs: 0, maxMessage: 0, rate: 0, burst: 0,
    });
    if (recovered) s.replay(lastSeq);
    else for (const cursor of topics) this.#events.cursor(s, cursor);
    this.#events.attached();
  }

  /** A frame that is repeated after a reconnect is handled once. */
  #numbered(s: Session, { seq }: Header, handle: () => void): void {
    if (seq > 0) {
      if (seq <= s.received) return;
      s.received = seq;
    }
    handle();
    if (seq > 0) s.say(control.novaAck, { seq: s.received });
  }
}
