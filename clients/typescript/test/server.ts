// A server for tests: speaks the base protocol over a real socket and lets the
// test say everything else.
import { WebSocketServer } from "ws";
import type { WebSocket } from "ws";
import { Reader, Writer, parseHeader, stamp } from "@ignex/nova-client/wire";
import type { EventDescriptor } from "@ignex/nova-client/wire";
import * as control from "../src/control/index.js";
import { schema } from "./fixtures/market.js";

const events = new Map([...control.schema.events, ...schema.events].map((e) => [e.id, e]));

export interface Received {
  name: string;
  value: any;
  /** 0 = not numbered. */
  seq: number;
}

/** Options of one frame. */
export interface FrameOptions {
  seq?: number;
  trailer?: { ref: bigint; offset: number };
}

/** Encodes a frame as a server sends it. */
export function frameOf<T>(event: EventDescriptor<T>, value: T, options: FrameOptions = {}): Uint8Array {
  let frame = new Writer().frame(event.id, event.table, value).slice();
  if (options.trailer !== undefined) {
    const longer = new Uint8Array(frame.length + 16);
    longer.set(frame);
    longer[5]! |= 2;
    const view = new DataView(longer.buffer);
    view.setBigUint64(frame.length, options.trailer.ref, true);
    view.setBigUint64(frame.length + 8, BigInt(options.trailer.offset), true);
    frame = longer;
  }
  if (options.seq !== undefined) stamp(frame, options.seq);
  return frame;
}

/** The frames of a message. */
export function split(data: Uint8Array): Uint8Array[] {
  const frames = [];
  for (let at = 0; at < data.length; ) {
    const view = new DataView(data.buffer, data.byteOffset + at);
    const size = 18 + view.getUint32(14, true);
    frames.push(data.subarray(at, at + size));
    at += size;
  }
  return frames;
}

export function decodeFrame(data: Uint8Array): Received {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const h = parseHeader(view);
  const event = events.get(h.id)!;
  return { name: event.name, value: new Reader().payload(view, h.start, h.end, event.table), seq: h.seq };
}

/** In a frame made by tooLarge it stands for 2^60. */
export const HUGE = 0x123456789abc;

/** Encodes a frame with numbers that the client's own encoder refuses. */
export function tooLarge<T>(event: EventDescriptor<T>, value: T, options: FrameOptions = {}): Uint8Array {
  const frame = frameOf(event, value, options).slice();
  const view = new DataView(frame.buffer);
  for (let i = 0; i + 8 <= frame.length; i++) if (view.getBigInt64(i, true) === BigInt(HUGE)) view.setBigInt64(i, 2n ** 60n, true);
  return frame;
}

/** The server's end of one connection. */
export class Peer {
  readonly received: Received[] = [];
  /** How many frames each message had. */
  readonly messages: number[] = [];
  closed: { code: number; reason: string } | undefined;
  readonly url: string;
  readonly protocol: string;
  private wake: (() => void)[] = [];

  constructor(readonly ws: WebSocket, url: string) {
    this.url = url;
    this.protocol = ws.protocol;
    ws.on("message", (data: Buffer) => {
      const frames = split(data).map(decodeFrame);
      this.received.push(...frames);
      this.messages.push(frames.length);
      this.changed();
    });
    ws.on("close", (code, reason) => {
      this.closed = { code, reason: String(reason) };
      this.changed();
    });
  }

  send<T>(event: EventDescriptor<T>, value: T, options: FrameOptions = {}): void {
    this.ws.send(frameOf(event, value, options));
  }

  welcome(caps: string[] = [], clientId = "c1", groups: string[] = []): void {
    this.send(control.hello, { version: 2, caps, lastSeq: 0 });
    this.send(control.welcome, { clientId, groups });
  }

  /** Answers attach, which must be there. */
  async session(answer: Partial<control.Session> = {}): Promise<control.Attach> {
    const attach = await this.next(control.novaAttach);
    this.send(control.novaSession, {
      session: "n1.aaaa", clientId: "c9", recovered: false, nextSeq: 1, missed: 0, received: 0, ttlMs: 60_000,
      heartbeatMs: 0, maxMessage: 0, rate: 0, burst: 0, ...answer,
    });
    return attach;
  }

  /** Waits for the next frame of that event and takes it out. */
  async next<T>(event: EventDescriptor<T>): Promise<T> {
    return (await this.take(event)).value;
  }

  /** As next, with its number. */
  async take<T>(event: EventDescriptor<T>): Promise<Received> {
    for (;;) {
      const at = this.received.findIndex((r) => r.name === event.name);
      if (at >= 0) return this.received.splice(at, 1)[0]!;
      await this.change();
    }
  }

  async end(): Promise<{ code: number; reason: string }> {
    while (this.closed === undefined) await this.change();
    return this.closed;
  }

  private change(): Promise<void> {
    return new Promise((done) => this.wake.push(done));
  }

  private changed(): void {
    for (const done of this.wake.splice(0)) done();
  }
}

export class TestServer {
  readonly peers: Peer[] = [];
  /** Called with every new connection; by default says hello and welcome. */
  greet: (peer: Peer) => void = (peer) => peer.welcome();
  private readonly server: WebSocketServer;
  private waiting: ((peer: Peer) => void)[] = [];
  private taken = 0;

  private constructor(port: number) {
    this.server = new WebSocketServer({ port, host: "127.0.0.1", handleProtocols: (p) => (p.has("nova.v2") ? "nova.v2" : false) });
    this.server.on("connection", (ws, request) => {
      const peer = new Peer(ws, `${request.url} ${request.headers["sec-websocket-protocol"] ?? ""}`);
      this.peers.push(peer);
      this.greet(peer);
      this.hand();
    });
  }

  static start(port = 0): Promise<TestServer> {
    const s = new TestServer(port);
    return new Promise((done, fail) => {
      s.server.once("listening", () => done(s));
      s.server.once("error", fail);
    });
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  get url(): string {
    return `ws://127.0.0.1:${this.port}/ws`;
  }

  /** Sockets that are open now. */
  get open(): number {
    return this.server.clients.size;
  }

  /** Waits for the next connection. */
  accept(): Promise<Peer> {
    return new Promise((done) => {
      this.waiting.push(done);
      this.hand();
    });
  }

  stop(): Promise<void> {
    for (const client of this.server.clients) client.terminate();
    return new Promise((done) => this.server.close(() => done()));
  }

  private hand(): void {
    while (this.waiting.length > 0 && this.taken < this.peers.length) this.waiting.shift()!(this.peers[this.taken++]!);
  }
}
