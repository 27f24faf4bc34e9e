// Whole scenarios against the real Go server, over real sockets.
import { WebSocket } from "ws";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { connect } from "@ignex/nova-client";
import type { Client, Gap, NovaError, Options, State, SubscribeOptions, Subscription } from "@ignex/nova-client";
import { chat, schema } from "../../../cmd/nova/page/src/market/index.js";
import { Program, RealServer } from "./realserver.js";

let program: Program;
let server: RealServer;
let client: Client;
/** Sockets of the client, the newest last. */
let sockets: WebSocket[];
let errors: NovaError[];
let gaps: Gap[];
let recovered: boolean[];

beforeAll(() => {
  program = Program.build();
}, 300_000);
afterAll(() => program?.remove());

beforeEach(() => {
  [sockets, errors, gaps, recovered] = [[], [], [], []];
});
afterEach(async () => {
  client?.close();
  await server?.stop();
  expect(errors).toEqual([]);
});

async function start(args: string[] = [], options: Options = {}): Promise<void> {
  server = await RealServer.start(program, ...args);
  class Watched extends WebSocket {
    constructor(url: string, protocols?: string[]) {
      super(url, protocols);
      sockets.push(this);
    }
  }
  client = connect(await server.url, { schema, webSocket: Watched, reconnect: { initialMs: 1, maxMs: 20 }, ...options });
  client.onError((e) => errors.push(e));
  client.onGap((gap) => gaps.push(gap));
  client.onRecovered((ok) => recovered.push(ok));
  await reach("connected");
}

function reach(state: State): Promise<void> {
  if (client.status.state === state) return Promise.resolve();
  return new Promise((done) => {
    const handle = client.onStatus((s) => {
      if (s.state !== state) return;
      handle.off();
      done();
    });
  });
}

/** The chats of a topic, by ts, and a way to wait for one of them. */
class Feed {
  readonly seen: number[] = [];
  readonly sub: Subscription;
  private readonly waiting = new Map<number, () => void>();

  constructor(topic: string, options: SubscribeOptions = {}) {
    this.sub = client.subscribe(topic, options);
    this.sub.on(chat, (m) => {
      this.seen.push(m.ts);
      this.waiting.get(m.ts)?.();
    });
  }

  until(ts: number): Promise<void> {
    if (this.seen.includes(ts)) return Promise.resolve();
    return new Promise((done) => this.waiting.set(ts, done));
  }
}

/** The connection breaks without a word. */
async function cut(): Promise<void> {
  const down = reach("reconnecting");
  sockets.at(-1)!.terminate();
  await down;
}

const count = (from: number, n: number) => Array.from({ length: n }, (_, i) => from + i);

test("recovered after a cut, twice in a row: nothing missing, nothing twice", async () => {
  await start();
  const feed = new Feed("news");
  await server.publish("news", 1, 5);
  await feed.until(5);
  for (let next = 6; next < 16; next += 5) {
    await cut();
    await server.publish("news", next, 5);
    await reach("connected");
    await feed.until(next + 4);
  }
  expect(feed.seen).toEqual(count(1, 15));
  expect([recovered, gaps, feed.sub.recovered]).toEqual([[true, true], [], true]);
});

test("takeover: the newer socket replaces the older, whose end changes nothing", async () => {
  await start();
  const feed = new Feed("news");
  await server.publish("news", 1, 2);
  await feed.until(2);
  const old = sockets[0]!;
  const close = old.onclose!;
  const ended = new Promise<[number, string]>((done) => old.on("close", (code, reason) => done([code, String(reason)])));
  const id = client.clientId;
  // The client thinks that it is lost; the server does not know.
  close.call(old, { code: 1006, reason: "" } as never);
  await reach("connected");
  expect(await ended).toEqual([1000, "replaced by newer session"]);
  await server.publish("news", 3, 3);
  await feed.until(5);
  expect([feed.seen, recovered, client.status.state, client.clientId]).toEqual([count(1, 5), [true], "connected", id]);
});

test("a reader that stalls is told exactly what it does not get", async () => {
  const total = 6_000;
  await start(["-frames", "64"]);
  const feed = new Feed("news");
  await server.publish("news", 1, 1);
  await feed.until(1);
  sockets[0]!.pause();
  await server.publish("news", 2, total - 1, 4096);
  sockets[0]!.resume();
  await feed.until(total);
  const missing = gaps.flatMap((g) => count(g.from, g.to! - g.from + 1));
  expect(missing.length).toBeGreaterThan(0);
  expect(feed.seen.length + missing.length).toBe(total);
  expect(new Set(gaps.map((g) => g.reason))).toEqual(new Set(["policy"]));
  expect(feed.seen).toEqual([...feed.seen].sort((a, b) => a - b));
});

test("pause keeps the session, resume continues it", async () => {
  await start();
  const feed = new Feed("news");
  await server.publish("news", 1, 1);
  await feed.until(1);
  client.pause();
  expect(client.status.state).toBe("idle");
  await server.publish("news", 2, 3);
  client.resume();
  await feed.until(4);
  expect([feed.seen, recovered, gaps]).toEqual([count(1, 4), [true], []]);
});

test("what is sent over many cuts is handled once, in order", async () => {
  await start();
  const sent: Promise<void>[] = [];
  for (let i = 0; i < 200; i++) {
    sent.push(client.send(chat, { room: "r", text: `m${i}`, ts: i }));
    if (i % 25 === 24) {
      await cut();
      await reach("connected");
    }
  }
  await Promise.all(sent);
  expect(await server.handled()).toEqual(count(0, 200).map((i) => `m${i}`));
});

test("the session is gone, the topic is not: it continues at the cursor", async () => {
  await start(["-ttl", "-1s", "-history", "100"]);
  const feed = new Feed("news");
  await server.publish("news", 1, 3);
  await feed.until(3);
  await cut();
  await server.publish("news", 4, 4);
  await reach("connected");
  await feed.until(7);
  expect([feed.seen, recovered, gaps, feed.sub.recovered]).toEqual([count(1, 7), [false], [], true]);
});

test("the cursor is older than what the topic keeps: told, then the newest", async () => {
  await start(["-ttl", "-1s", "-history", "4"]);
  const feed = new Feed("news");
  await server.publish("news", 1, 2);
  await feed.until(2);
  client.pause();
  await server.publish("news", 3, 10);
  client.resume();
  await feed.until(12);
  expect(feed.seen).toEqual([1, 2, 9, 10, 11, 12]);
  expect(gaps).toEqual([{ topic: "news", from: 3, to: 8, reason: "lost" }]);
  expect([recovered, feed.sub.recovered]).toEqual([[false], false]);
});

test("limit: a subscription begins with as many as asked for", async () => {
  await start(["-history", "2000", "-frames", "4000"]);
  await server.publish("news", 1, 1_900);
  const few = new Feed("news", { limit: 10 });
  await few.until(1_900);
  expect([few.seen, few.sub.recovered, gaps]).toEqual([count(1_891, 10), false, []]);
  few.sub.close();
  const all = new Feed("news", { limit: 2_000 });
  await all.until(1_900);
  expect(all.seen).toEqual(count(1, 1_900));
});

test("a message that the server would not take is refused here", async () => {
  await start(["-max-message", "2000"]);
  client.onError(() => {});
  await expect(client.send(chat, { room: "r", text: "x".repeat(3_000), ts: 0 })).rejects.toMatchObject({
    code: "invalid", message: /^\d+ bytes are more than the 2000 the server takes$/,
  });
  errors.length = 0;
  await client.send(chat, { room: "r", text: "small", ts: 1 });
  expect(await server.handled()).toEqual(["small"]);
});

test("a client that sends as fast as it can keeps below the rate that the server closes for", async () => {
  await start(["-rate", "200"]);
  const sent: Promise<void>[] = [];
  for (let i = 0; i < 250; i++) {
    if (i % 25 === 0) client.subscribe(`topic${i}`);
    sent.push(client.send(chat, { room: "r", text: `m${i}`, ts: i }));
  }
  await Promise.all(sent);
  expect(await server.handled()).toEqual(count(0, 250).map((i) => `m${i}`));
  expect([sockets.length, recovered]).toEqual([1, []]);
});
