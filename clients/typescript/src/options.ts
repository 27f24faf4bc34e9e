import type { ReconnectOptions } from "./backoff.js";
import { NovaError } from "./error.js";
import type { GateOptions } from "./gate.js";
import type { HeartbeatOptions } from "./heartbeat.js";
import type { QueueOptions } from "./queue.js";
import type { WebSocketClass } from "./socket.js";
import type { Schema } from "./wire/index.js";

/** Options of a client; every one may be left out. */
export interface Options {
  /**
   * The generated schema. Without it only events given to `on` and `send`
   * decode, and `onAny` sees the others undecoded.
   */
  schema?: Schema;
  /**
   * Gives the token for the next attempt; called before each. It travels as a
   * subprotocol, never in the URL; undefined sends none. See renewToken of
   * `@ignex/nova-client/auth` for tokens that expire. Default: no token.
   */
  token?: () => string | undefined | Promise<string | undefined>;
  /** Delays between attempts. */
  reconnect?: ReconnectOptions;
  /** Pings and what counts as silence. */
  heartbeat?: HeartbeatOptions;
  /** Bounds of what waits to be sent. */
  queue?: QueueOptions;
  /** Bounds of what waits behind a hole in the numbers. */
  gate?: GateOptions;
  /** How long an attempt may take, the token option included, until the server's welcome in ms. Default 10,000. */
  connectTimeoutMs?: number;
  /**
   * Plain int64 fields outside ±(2^53−1): "warn" delivers the nearest number and
   * tells onError once per event and field, "error" drops the event. Default "warn".
   */
  int64?: "warn" | "error";
  /** WebSocket class, e.g. that of `ws`. Default: the global one. */
  webSocket?: WebSocketClass;
}

/**
 * Finds the WebSocket class.
 * @throws NovaError failed_precondition
 */
export function webSocketOf(options: Options): WebSocketClass {
  const found = options.webSocket ?? (globalThis as { WebSocket?: WebSocketClass }).WebSocket;
  if (!found) {
    throw new NovaError("failed_precondition", "no global WebSocket; give one as option webSocket");
  }
  return found;
}

/**
 * Makes the socket address: http(s) becomes ws(s), paths are relative to the
 * page, and `nova=2` is added, which asks the server for refusals that a
 * browser can see.
 * @throws NovaError invalid
 */
export function socketUrl(url: string | URL): string {
  try {
    const parsed = new URL(url, globalThis.location?.href);
    parsed.protocol = parsed.protocol.replace("http", "ws");
    parsed.hash = "";
    parsed.searchParams.set("nova", "2");
    if (/^wss?:/.test(parsed.href)) return parsed.href;
  } catch {}
  throw new NovaError("invalid", `"${url}" is not a ws, wss, http or https URL`);
}
