import { Backoff } from "./backoff.js";
import { POLICY, TOKEN, isFinal } from "./closecode.js";
import { NovaError } from "./error.js";
import { Heartbeat, bounded } from "./heartbeat.js";
import { socketUrl, webSocketOf } from "./options.js";
import type { Options } from "./options.js";
import { Pace } from "./pace.js";
import { OPEN, hangUp } from "./socket.js";
import type { WebSocketClass, WebSocketLike } from "./socket.js";
import type { Status } from "./status.js";
import { onWake } from "./wake.js";
import { utf8 } from "./wire/text.js";

/** What a link tells its client. */
export interface LinkEvents {
  /** The socket is open: say hello. */
  readonly open: () => void;
  frame(view: DataView): void;
  /** Send a ping. */
  readonly ping: () => void;
  /** There is room for frames again. */
  readonly room: () => void;
  /** There is no socket, if there was one. */
  lost(): void;
  status(status: Status): void;
  error(e: NovaError): void;
}

/** Close code that keeps a session on the server; browsers may send 1000 and 3000–4999. */
const KEEP = 4000;

/**
 * Keeps one socket alive: attempts, delays, close codes, heartbeat. Every
 * attempt has its own number; what an older one still does is ignored, and its
 * socket is closed.
 */
export class Link {
  readonly #url: string;
  readonly #Class: WebSocketClass;
  readonly #backoff: Backoff;
  readonly #heartbeat: Heartbeat;
  /** Sends frames within the server's rate limit. */
  readonly pace: Pace;
  status: Status = { state: "idle" };
  /** The socket of the attempt or connection under way; what others still do is ignored. */
  socket: WebSocketLike | undefined;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #unwake: (() => void) | undefined;
  #openedAt = 0;
  /** A fresh token was taken because of a 4401 and is not accepted yet. */
  #renewed = false;
  #hurried = false;
  /** The server asked to stay away so long, in ms. */
  #away = 0;

  readonly #options: Options;
  readonly #events: LinkEvents;

  constructor(url: string | URL, options: Options, events: LinkEvents) {
    this.#options = options;
    this.#events = events;
    this.#url = socketUrl(url);
    this.#Class = webSocketOf(options);
    this.#backoff = new Backoff(options.reconnect);
    this.pace = new Pace((frame) => this.socket?.readyState === OPEN && (this.socket.send(frame), true), events.room);
    this.#heartbeat = new Heartbeat(options.heartbeat ?? {}, events.ping, () => this.#fail("no answer"));
  }

  start(): void {
    if (this.status.state !== "idle") return;
    this.#unwake ??= onWake(() => this.#wake());
    void this.#dial(); // before a listener may close or pause
    this.#set({ state: "connecting" });
  }

  pause(): void {
    if (this.status.state === "idle" || this.status.state === "closed") return;
    const reason = "paused by the client";
    this.#end(KEEP, reason);
    this.#away = 0;
    this.#set({ state: "idle", reason });
  }

  /** The server will close: the next attempt starts exactly so much later, within 10 min. */
  goaway(ms: number): void {
    this.#away = bounded(ms, 1);
  }

  /**
   * The server admitted this connection.
   * @param heartbeatMs its wish for the heartbeat, 0 = none
   */
  welcomed(heartbeatMs: number): void {
    if (this.status.state === "connected" || !this.socket) return;
    clearTimeout(this.#timer);
    this.#renewed = false;
    this.#hurried = false;
    this.#openedAt = Date.now();
    this.#heartbeat.start(heartbeatMs);
    this.#set({ state: "connected" });
  }

  async #dial(): Promise<void> {
    const attempt = ++this.#attempt;
    this.#timer = setTimeout(() => this.#fail("no welcome in time"), this.#options.connectTimeoutMs ?? 10_000);
    let token: string | undefined;
    try {
      await 0; // nothing of it happens within the call
      token = await this.#options.token?.();
    } catch (cause) {
      if (attempt !== this.#attempt) return;
      this.#events.error(new NovaError("unauthenticated", `the token option failed: ${String(cause)}`, { cause }));
      return this.#fail("no token");
    }
    if (attempt !== this.#attempt) return;
    try {
      const ws = new this.#Class(this.#url, token === undefined ? token : ["nova.v2", `nova.token.${base64url(token)}`]);
      this.socket = ws;
      ws.binaryType = "arraybuffer";
      ws.onopen = this.#events.open;
      ws.onmessage = ({ data }: { data: string | ArrayBuffer }) => {
        if (ws !== this.socket) return;
        this.#heartbeat.alive();
        if (typeof data === "string") this.#events.error(new NovaError("invalid", "the server sent a text message"));
        else this.#events.frame(new DataView(data));
      };
      ws.onclose = ({ code, reason }: { code: number; reason: string }) => {
        if (ws === this.socket) this.#closed(code, reason);
      };
      ws.onerror = () => {}; // a close event always follows; without a handler ws would throw
    } catch (cause) {
      this.finish(`WebSocket failed: ${String(cause)}`);
    }
  }

  /** The socket closed by itself. */
  #closed(code: number, reason: string): void {
    this.socket = undefined;
    this.#release();
    const text = reason || (code === 1006 ? "connection lost or refused" : `closed with code ${code}`);
    if (isFinal(code, reason)) return this.finish(text, code);
    let delay = this.#backoff.next(code === POLICY);
    if (code === TOKEN) {
      if (this.#renewed || !this.#options.token) return this.finish("unauthenticated", code);
      this.#renewed = true;
      // At once, but not again and again when the server takes back what it accepted.
      if (this.#backoff.attempt === 1) delay = 0;
    }
    this.#retry(delay, text, code);
  }

  /** This side gives the socket up and tries again. */
  #fail(reason: string): void {
    this.#end(KEEP, reason);
    this.#retry(this.#backoff.next(), reason);
  }

  #retry(usual: number, reason: string, code?: number): void {
    const delay = this.#away || usual;
    if (this.#away) this.#hurried = true;
    this.#away = 0;
    this.#timer = setTimeout(() => this.#dial(), delay);
    this.#set({ state: "reconnecting", reason, code, attempt: this.#backoff.attempt, retryInMs: delay });
  }

  /** Ends for good. */
  finish(reason: string, code?: number): void {
    if (this.status.state === "closed") return;
    this.#end(code ?? 1000, reason);
    this.#unwake?.();
    this.#set({ state: "closed", reason, code });
  }

  /** Ends the attempt or connection under way, if any. */
  #end(code: number, reason: string): void {
    this.#attempt++;
    const ws = this.socket;
    this.socket = undefined;
    this.#release();
    if (ws) hangUp(ws, code, reason.slice(0, 40));
  }

  #release(): void {
    clearTimeout(this.#timer);
    this.#heartbeat.stop();
    this.pace.limit(0, 0);
    if (this.#openedAt) this.#backoff.ended(Date.now() - this.#openedAt);
    this.#openedAt = 0;
    this.#events.lost();
  }

  /** The page or the network is back. */
  #wake(): void {
    if (this.status.state === "connected") return this.#heartbeat.probe();
    // Only who waits to reconnect has a delay.
    if (this.socket || this.#hurried || !(this.status.retryInMs! >= 1000)) return;
    this.#hurried = true; // once until the next welcome: wake-ups must not defeat the delays
    clearTimeout(this.#timer);
    void this.#dial();
  }

  #set(status: Status): void {
    this.status = status;
    this.#events.status(status);
  }
}

function base64url(text: string): string {
  return btoa(String.fromCharCode(...utf8(text))).replace(/[+/=]/g, (c) => ({ "+": "-", "/": "_" })[c] ?? "");
}
