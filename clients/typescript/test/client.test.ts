import { WebSocket } from "ws";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect, createClient } from "@ignex/nova-client";
import type { Client, Meta, NovaError, Options, State } from "@ignex/nova-client";
import { Writer } from "@ignex/nova-client/wire";
import * as control from "../src/control/index.js";
import { refOf } from "../src/topic.js";
import { bigVal, mixed, quote, schema, trade } from "./fixtures/market.js";
import { aQuote, aTrade, emptyMixed } from "./fixtures/values.js";
import { TestServer, frameOf } from "./server.js";
import type { Peer } from "./server.js";

let server: TestServer;
let client: Client | undefined;
let errors: NovaError[];

beforeEach(async () => {
  server = await TestServer.start();
  errors = [];
});
afterEach(async () => {
  client?.close();
  client = undefined;
  await server.stop();
});

const quick = { initialMs: 1, maxMs: 20 };

function start(options: Options = {}): Client {
  client = connect(server.url, { schema, webSocket: WebSocket, reconnect: quick, ...options });
  client.onError((e) => errors.push(e));
  return client;
}

function reach(c: Client, state: State): Promise<void> {
  if (c.status.state === state) return Promise.resolve();
  return new Promise((done) => {
    const handle = c.onStatus((s) => {
      if (s.state !== state) return;
      handle.off();
      done();
    });
  });
}

/** Resolves with the nth value of an event. */
function collect<T>(c: Client, event: Parameters<Client["on"]>[0], n: number): Promise<{ value: T; meta: Meta }[]> {
  const got: { value: T; meta: Meta }[] = [];
  return new Promise((done) => {
    c.on(event, (value: any, meta) => {
      got.push({ value, meta });
      if (got.length === n) done(got);
    });
  });
}

const q = (n: number) => ({ ...aQuote, ts: n });

describe("connecting", () => {
  test("hello first, status and identity after welcome", async () => {
    server.greet = (peer) => peer.welcome(["topics/9", `schema/${schema.fingerprint}`], "c-7", ["staff"]);
    client = createClient(server.url, { schema, webSocket: WebSocket });
    const states: string[] = [client.status.state];
    client.onStatus((s) => states.push(s.state));
    client.connect();
    const peer = await server.accept();
    await reach(client, "connected");
    expect(await peer.next(control.hello)).toEqual({ version: 2, caps: ["session/1", "topics/1", `schema/${schema.fingerprint}`], lastSeq: 0 });
    expect(peer.url).toMatch(/^\/ws\?nova=2 $/);
    expect(states).toEqual(["idle", "connecting", "connected"]);
    expect([client.clientId, client.groups]).toEqual(["c-7", ["staff"]]);
    client.close();
    expect(await peer.end()).toEqual({ code: 1000, reason: "closed by the client" });
    expect(client.status).toMatchObject({ state: "closed", reason: "closed by the client" });
    expect(() => client!.connect()).toThrow("the client is closed");
  });

  test("the token travels as a subprotocol, never in the URL", async () => {
    start({ token: async () => "sécret?/+" });
    const peer = await server.accept();
    await reach(client!, "connected");
    const encoded = Buffer.from("sécret?/+").toString("base64url");
    expect(peer.url).toBe(`/ws?nova=2 nova.v2,nova.token.${encoded}`);
    expect(peer.protocol).toBe("nova.v2");
  });

  test("another wire version ends it", async () => {
    server.greet = (peer) => peer.send(control.hello, { version: 3, caps: [], lastSeq: 0 });
    start();
    await reach(client!, "closed");
    expect(client!.status.reason).toBe("wire version mismatch: the server has 3, want 2");
  });

  test("another schema is told once", async () => {
    server.greet = (peer) => peer.welcome(["schema/ffffffffffffffff"]);
    start();
    (await server.accept()).ws.terminate();
    await server.accept();
    await reach(client!, "connected");
    expect(errors.map((e) => e.code)).toEqual(["failed_precondition"]);
  });

  test.each([["not a url", "is not a URL"], ["ftp://x/", "ws, wss, http or https"]])("address %j", (url, message) => {
    expect(() => createClient(url, { webSocket: WebSocket })).toThrow(message);
  });

  test("Node without a WebSocket class is told what to do", () => {
    const given = Reflect.get(globalThis, "WebSocket");
    Reflect.deleteProperty(globalThis, "WebSocket");
    try {
      expect(() => createClient("ws://x/")).toThrow("give one as option webSocket");
    } finally {
      if (given !== undefined) Reflect.set(globalThis, "WebSocket", given);
    }
  });
});

describe("events", () => {
  test("arrive typed, synchronously and in order", async () => {
    const c = start();
    const peer = await server.accept();
    const done = collect(c, quote, 500);
    const trades: unknown[] = [];
    c.on(trade, (v) => trades.push(v));
    for (let i = 0; i < 500; i++) peer.send(quote, q(i));
    const got = await done;
    expect(got.map((g) => g.value)).toEqual(Array.from({ length: 500 }, (_, i) => q(i)));
    expect(got[0]!.meta).toEqual({ event: "quote", id: quote.id, seq: 0 });
    expect(trades).toEqual([]);
  });

  test("a throwing handler harms nobody else", async () => {
    const c = start();
    const peer = await server.accept();
    const seen: string[] = [];
    c.on(quote, () => seen.push("first"));
    c.on(quote, () => {
      throw new Error("boom");
    });
    c.onAny(() => {
      throw new Error("bang");
    });
    const done = collect(c, quote, 2);
    peer.send(quote, q(1));
    peer.send(quote, q(2));
    await done;
    expect(seen).toEqual(["first", "first"]);
    expect(errors.map((e) => [e.code, e.event, e.message])).toEqual([
      ["internal", "quote", "a handler of quote threw: Error: boom"],
      ["internal", "quote", "a handler of quote threw: Error: bang"],
      ["internal", "quote", "a handler of quote threw: Error: boom"],
      ["internal", "quote", "a handler of quote threw: Error: bang"],
    ]);
    expect(c.status.state).toBe("connected");
  });

  test("once, off, handles, and changes during a dispatch", async () => {
    const c = start();
    const peer = await server.accept();
    const seen: string[] = [];
    const off = () => seen.push("removed by off");
    c.once(quote, () => seen.push("once"));
    c.on(quote, off);
    const second = c.on(quote, () => seen.push("removed by handle"));
    c.on(quote, () => {
      seen.push("changer");
      c.off(quote, off);
      second.off();
      last.off();
      c.once(quote, () => seen.push("added"));
    });
    const last = c.on(quote, () => seen.push("removed meanwhile"));
    const done = collect(c, trade, 1);
    peer.send(quote, q(1));
    peer.send(quote, q(2));
    peer.send(trade, aTrade);
    await done;
    expect(seen).toEqual(["once", "removed by off", "removed by handle", "changer", "changer", "added"]);
  });

  test("unknown, malformed and rounded are told and counted; onAny sees the rest", async () => {
    const c = start();
    const peer = await server.accept();
    const any: { value: any; meta: Meta }[] = [];
    c.onAny((value, meta) => any.push({ value, meta }));
    const done = collect(c, trade, 1);
    const stranger = new Writer().frame(0xdeadbeef, quote.table, aQuote);
    peer.ws.send(stranger);
    peer.ws.send(stranger);
    peer.ws.send(Uint8Array.of(1, 2, 3));
    peer.ws.send("text");
    const broken = frameOf(quote, aQuote);
    broken[18] = 0xff;
    broken[21] = 0x7f;
    peer.ws.send(broken);
    const big = frameOf(quote, aQuote);
    new DataView(big.buffer).setBigInt64(14 + 24 + 40, 2n ** 60n, true);
    peer.ws.send(big);
    peer.ws.send(big);
    peer.send(trade, aTrade);
    await done;
    expect(c.stats).toMatchObject({ unknown: 2, undecodable: 2 });
    expect(errors.map((e) => e.message)).toEqual([
      "unknown event id 0xdeadbeef; is this schema older than the server's?",
      "frame is shorter than its header: 3 bytes",
      "the server sent a text message",
      "event quote: malformed payload: an offset or length points outside the buffer",
      "event quote: ts: rounded, the integer is beyond 2^53; declare the field as bigint",
    ]);
    expect(any.map((a) => a.meta.event)).toEqual(["", "", "quote", "quote", "trade"]);
    expect(any[0]).toMatchObject({ value: undefined, meta: { id: 0xdeadbeef, raw: stranger.slice(14) } });
    expect(any[2]!.value.ts).toBe(2 ** 60);
  });

  test("int64: error drops the event", async () => {
    const c = start({ int64: "error" });
    const peer = await server.accept();
    const done = collect(c, quote, 1);
    const big = frameOf(quote, aQuote);
    new DataView(big.buffer).setBigInt64(14 + 24 + 40, 2n ** 60n, true);
    peer.ws.send(big);
    peer.send(quote, q(1));
    expect((await done)[0]!.value).toEqual(q(1));
    expect(errors[0]!.message).toContain("ts: the integer is beyond 2^53");
  });

  test("a schema is not needed for what handlers name", async () => {
    client = connect(server.url, { webSocket: WebSocket });
    client.onError((e) => errors.push(e));
    const done = collect(client, bigVal, 1);
    const peer = await server.accept();
    peer.send(bigVal, { id: "x", seq: 2n ** 60n, when: 1 });
    expect((await done)[0]!.value).toEqual({ id: "x", seq: 2n ** 60n, when: 1 });
  });
});

describe("sending", () => {
  test("before and after the connection, in order", async () => {
    client = createClient(server.url, { schema, webSocket: WebSocket });
    const sent = [client.send(mixed, { ...emptyMixed, id: "1" }), client.send(mixed, { ...emptyMixed, id: "2" })];
    client.connect();
    const peer = await server.accept();
    await Promise.all(sent);
    await client.send(mixed, { ...emptyMixed, id: "3" });
    for (const id of ["1", "2", "3"]) expect((await peer.next(mixed)).id).toBe(id);
  });

  test("a bad value rejects and names the field", async () => {
    const c = start();
    await expect(c.send(mixed, { ...emptyMixed, count: 1.5 })).rejects.toMatchObject({
      code: "invalid", event: "mixed", message: "event mixed: count: 1.5 is not an integer",
    });
  });

  test("ignored failures go to onError, not to the process", async () => {
    const c = start();
    void c.send(mixed, { ...emptyMixed, id: 5 as never });
    await reach(c, "connected");
    expect(errors.map((e) => e.code)).toEqual(["invalid"]);
  });

  test("a getter that sends while encoding", async () => {
    const c = start();
    const peer = await server.accept();
    await reach(c, "connected");
    const value = { ...emptyMixed, get id() { void c.send(mixed, { ...emptyMixed, id: "inner" }); return "outer"; } };
    await c.send(mixed, value);
    expect((await peer.next(mixed)).id).toBe("inner");
    expect((await peer.next(mixed)).id).toBe("outer");
  });

  test("close rejects what waits", async () => {
    client = createClient(server.url, { webSocket: WebSocket });
    client.onError(() => {});
    const sent = client.send(mixed, emptyMixed);
    client.close();
    await expect(sent).rejects.toMatchObject({ code: "cancelled" });
    await expect(client.send(mixed, emptyMixed)).rejects.toMatchObject({ code: "failed_precondition" });
  });
});

describe("topics and groups", () => {
  test("subscribe, share, leave with the last", async () => {
    const c = start();
    const a = c.subscribe("equities");
    const b = c.subscribe("equities");
    c.joinGroup("staff");
    const peer = await server.accept();
    await reach(c, "connected");
    c.subscribe("bonds");
    expect((await peer.next(control.subscribe)).topic).toBe("equities");
    expect((await peer.next(control.subscribe)).topic).toBe("bonds");
    expect((await peer.next(control.joinGroup)).group).toBe("staff");
    expect(c.groups).toEqual(["staff"]);
    const seen: string[] = [];
    a.on(quote, () => seen.push("a"));
    b.on(quote, () => seen.push("b"));
    a.close();
    a.close();
    const done = collect(c, trade, 1);
    peer.send(quote, q(1));
    peer.send(trade, aTrade);
    await done;
    expect(seen).toEqual(["b"]);
    b.close();
    c.unsubscribe("bonds");
    c.leaveGroup("staff");
    void c.snapshot("equities", 7);
    expect((await peer.next(control.unsubscribe)).topic).toBe("equities");
    expect((await peer.next(control.unsubscribe)).topic).toBe("bonds");
    expect((await peer.next(control.leaveGroup)).group).toBe("staff");
    expect(await peer.next(control.snapshotRequest)).toEqual({ topic: "equities", fromSeq: 7 });
    expect(peer.received.filter((r) => r.name === "subscribe")).toEqual([]);
  });

  test("a subscription closed in a handler, or after its topic was left, does no harm", async () => {
    const c = start();
    const a = c.subscribe("t");
    const peer = await server.accept();
    const seen: string[] = [];
    c.on(quote, () => a.close());
    a.on(quote, () => seen.push("closed"));
    const done = collect(c, trade, 1);
    peer.send(quote, q(1));
    peer.send(trade, aTrade);
    await done;
    expect(seen).toEqual([]);
    await peer.next(control.unsubscribe);
    const b = c.subscribe("t");
    c.unsubscribe("t");
    await peer.next(control.unsubscribe);
    c.subscribe("t");
    b.close();
    void c.snapshot("t");
    await peer.next(control.snapshotRequest);
    expect(peer.received.filter((r) => r.name === "unsubscribe")).toEqual([]);
  });

  test.each(["", "a\u0000b", "x".repeat(256), "ä".repeat(128), "\ud800"])("bad name %j", (name) => {
    const c = start();
    expect(() => c.subscribe(name)).toThrow(/^topic .* is not 1 to 255 bytes/);
    expect(() => c.joinGroup(name)).toThrow(/^group /);
  });

  test("positions: topics/1 filters, drops what was seen, and resumes from a cursor", async () => {
    server.greet = (peer) => peer.welcome(["topics/1"]);
    const c = start();
    const sub = c.subscribe("t1");
    const live = c.subscribe("t2", { from: "live" });
    const peer = await server.accept();
    const first = await peer.next(control.novaSubscribe);
    const second = await peer.next(control.novaSubscribe);
    expect([first, second]).toEqual([
      { id: 1, topic: "t1", epoch: "", offset: 0, limit: 0 },
      { id: 2, topic: "t2", epoch: "", offset: -1, limit: 0 },
    ]);
    peer.send(control.novaSubscribed, { id: 1, topic: "t1", epoch: "e1", offset: 4, recovered: false, replayed: 2 });
    peer.send(control.novaSubscribed, { id: 2, topic: "t2", epoch: "e2", offset: 0, recovered: true, replayed: 0 });
    const seen: [string, number, Meta][] = [];
    sub.on(quote, (v, meta) => seen.push(["t1", v.ts, meta]));
    live.on(quote, (v, meta) => seen.push(["t2", v.ts, meta]));
    const done = collect(c, trade, 1);
    const [t1, t2] = [refOf("e1", "t1"), refOf("e2", "t2")];
    peer.send(quote, q(1), { trailer: { ref: t1, offset: 5 } });
    peer.send(quote, q(2), { trailer: { ref: t2, offset: 9 } });
    peer.send(quote, q(3), { trailer: { ref: t1, offset: 5 } }); // seen before
    peer.send(quote, q(4), { trailer: { ref: 1n, offset: 6 } }); // no topic of ours
    peer.send(quote, q(5), { trailer: { ref: t1, offset: 8 } }); // holes are normal
    peer.send(trade, aTrade);
    await done;
    expect(seen.map(([t, n]) => [t, n])).toEqual([["t1", 1], ["t2", 2], ["t1", 5]]);
    expect(seen[2]![2]).toEqual({ event: "quote", id: quote.id, seq: 0, topic: "t1", offset: 8 });
    expect(sub.position).toEqual({ epoch: "e1", offset: 8 });
    expect([sub.recovered, live.recovered]).toEqual([false, true]);
    expect(c.stats.stale).toBe(2);

    peer.ws.terminate();
    const again = await server.accept();
    expect(await again.next(control.novaSubscribe)).toEqual({ id: 3, topic: "t1", epoch: "e1", offset: 8, limit: 0 });
    expect(await again.next(control.novaSubscribe)).toEqual({ id: 4, topic: "t2", epoch: "e2", offset: 9, limit: 0 });
    again.send(control.novaRejected, { id: 3, topic: "t1", group: "", code: 7, message: "no" });
    again.send(control.novaUnsubscribed, { topic: "t2", code: 7, message: "before our request" });
    again.send(control.novaSubscribed, { id: 4, topic: "t2", epoch: "e2", offset: 9, recovered: true, replayed: 0 });
    again.send(control.novaUnsubscribed, { topic: "t2", code: 7, message: "revoked" });
    const after = collect(c, trade, 1);
    again.send(trade, aTrade);
    await after;
    expect(errors.map((e) => [e.code, e.topic, e.message])).toEqual([["denied", "t1", "topic t1: no"], ["denied", "t2", "topic t2: revoked"]]);
  });

  test("topics joined by the server are named", async () => {
    server.greet = (peer) => peer.welcome(["topics/1"]);
    const c = start();
    const peer = await server.accept();
    const done = collect(c, quote, 1);
    peer.send(control.novaSubscribed, { id: 0, topic: "vip", epoch: "e", offset: 0, recovered: false, replayed: 0 });
    peer.send(quote, q(1), { trailer: { ref: refOf("e", "vip"), offset: 1 } });
    expect((await done)[0]!.meta.topic).toBe("vip");
  });
});

describe("after a loss", () => {
  test("connects again and restores topics and groups once", async () => {
    const c = start();
    c.subscribe("equities");
    c.joinGroup("staff");
    const peer = await server.accept();
    await peer.next(control.joinGroup);
    peer.ws.terminate();
    await reach(c, "reconnecting");
    const sent = c.send(mixed, emptyMixed);
    const again = await server.accept();
    await sent;
    await again.next(mixed);
    expect(again.received.map((r) => r.name).filter((n) => n !== "ping")).toEqual(["hello", "subscribe", "joinGroup"]);
    expect(c.status).toEqual({ state: "connected" });
  });

  test("flapping connections leave one socket", async () => {
    let n = 0;
    server.greet = (peer) => {
      n++;
      if (n % 3 === 1) peer.ws.terminate();
      else if (n % 3 === 2) peer.ws.close(1013, "try again");
      else peer.welcome();
    };
    const c = start();
    for (let i = 0; i < 5; i++) {
      await reach(c, "connected");
      server.peers.at(-1)!.ws.terminate();
      await reach(c, "reconnecting");
    }
    for (let i = 0; i < 20; i++) {
      c.pause();
      c.resume();
    }
    await reach(c, "connected");
    await Promise.all(server.peers.slice(0, -1).map((p) => p.end()));
    expect(server.open).toBe(1);
    expect(server.peers.at(-1)!.closed).toBeUndefined();
  });

  test("pause keeps everything, resume connects", async () => {
    const c = start();
    c.subscribe("equities");
    const peer = await server.accept();
    await reach(c, "connected");
    c.pause();
    expect(c.status).toEqual({ state: "idle", reason: "paused by the client" });
    expect(await peer.end()).toEqual({ code: 4000, reason: "paused by the client" });
    c.resume();
    expect((await (await server.accept()).next(control.subscribe)).topic).toBe("equities");
  });

  test.each([
    [1000, "replaced by newer session", "closed"],
    [1001, "going away", "reconnecting"],
    [1002, "no hello", "closed"],
    [1003, "text frame received", "closed"],
    [1008, "policy", "closed"],
    [1009, "message too big", "closed"],
    [1011, "internal error", "reconnecting"],
    [1012, "service restart", "reconnecting"],
    [1013, "slow consumer", "reconnecting"],
    [4401, "token expired", "closed"], // no token option: nothing to renew
    [4403, "not allowed", "closed"],
  ] as const)("close code %d %s: %s", async (code, reason, state) => {
    const c = start();
    const peer = await server.accept();
    await reach(c, "connected");
    peer.ws.close(code, reason);
    await reach(c, state);
    expect(c.status.code).toBe(code);
    expect(c.status.reason).toBe(code === 4401 ? "unauthenticated" : reason);
  });

  test("1008 rate limit waits for the full delay", async () => {
    const c = start({ reconnect: { initialMs: 1, maxMs: 40 } });
    const peer = await server.accept();
    await reach(c, "connected");
    peer.ws.close(1008, "rate limit exceeded");
    await reach(c, "reconnecting");
    expect(c.status.retryInMs).toBe(40);
  });

  test("4401 takes one fresh token; a second one ends it", async () => {
    const tokens = ["old", "new", "never"];
    const used: string[] = [];
    server.greet = (peer) => peer.ws.close(4401, "token expired");
    const c = start({ token: () => (used.push(tokens[0]!), tokens.shift()) });
    await reach(c, "closed");
    expect(used).toEqual(["old", "new"]);
    expect(c.status).toEqual({ state: "closed", reason: "unauthenticated", code: 4401 });
  });

  test("a token that works again is asked for again", async () => {
    let n = 0;
    const c = start({ token: () => `t${++n}` });
    for (let i = 0; i < 3; i++) {
      const peer = await server.accept();
      await reach(c, "connected");
      peer.ws.close(4401, "token expired");
      await reach(c, "reconnecting");
    }
    await reach(c, "connected");
    expect(n).toBe(4);
  });

  test("a failing token function is told and tried again", async () => {
    let n = 0;
    const c = start({ token: () => (++n === 1 ? Promise.reject(new Error("offline")) : "t") });
    await reach(c, "connected");
    expect(errors.map((e) => [e.code, e.message])).toEqual([["unauthenticated", "the token option failed: Error: offline"]]);
  });

  test("nobody listens: it keeps trying until close", async () => {
    const gone = server.url;
    await server.stop();
    client = connect(gone, { webSocket: WebSocket, reconnect: quick });
    for (let n = 0; n < 3; ) {
      await new Promise<void>((done) => {
        const h = client!.onStatus((s) => {
          if (s.state === "reconnecting") n = s.attempt!;
          h.off();
          done();
        });
      });
    }
    expect(client.status.reason).toBe("connection lost or refused");
    client.close();
    expect(client.status.state).toBe("closed");
    server = await TestServer.start();
  });
});

describe("numbered frames of a base server", () => {
  const numbers = (got: { meta: Meta }[]) => got.map((g) => g.meta.seq);
  const numbered = (peer: Peer, ...seqs: number[]) => seqs.forEach((n) => peer.send(quote, q(n), { seq: n }));

  test("a hole is asked for once and filled; duplicates are dropped", async () => {
    const c = start();
    const peer = await server.accept();
    const done = collect(c, quote, 6);
    numbered(peer, 1, 2, 2, 5, 4, 5);
    expect((await peer.next(control.resume)).lastSeq).toBe(2);
    peer.send(control.resumed, { ok: true, from: 3 });
    numbered(peer, 3, 4, 5, 6);
    expect(numbers(await done)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(peer.received.filter((r) => r.name === "resume")).toEqual([]);
  });

  test("a refused resume delivers in order and tells the hole", async () => {
    const c = start();
    const peer = await server.accept();
    const gaps: unknown[] = [];
    c.onGap((gap) => gaps.push(gap));
    const done = collect(c, quote, 4);
    numbered(peer, 1, 7, 4);
    await peer.next(control.resume);
    peer.send(control.resumed, { ok: false, from: 0 });
    numbered(peer, 8);
    expect(numbers(await done)).toEqual([1, 4, 7, 8]);
    expect(gaps).toEqual([{ from: 2, to: 3, reason: "lost" }, { from: 5, to: 6, reason: "lost" }]);
  });

  test("no answer: the timeout delivers", async () => {
    const c = start({ gate: { timeoutMs: 20 } });
    const peer = await server.accept();
    const done = collect(c, quote, 2);
    numbered(peer, 1, 3);
    expect(numbers(await done)).toEqual([1, 3]);
  });

  test("what is held is bounded", async () => {
    const c = start({ gate: { maxPending: 3 } });
    const peer = await server.accept();
    const done = collect(c, quote, 5);
    numbered(peer, 1, 3, 4, 5, 6);
    expect(numbers(await done)).toEqual([1, 3, 4, 5, 6]);
  });

  test("the counter survives a reconnect; a server that started again is followed", async () => {
    const c = start();
    const recovered: boolean[] = [];
    c.onRecovered((ok) => recovered.push(ok));
    const peer = await server.accept();
    const done = collect(c, quote, 7);
    numbered(peer, 1, 2, 3, 5);
    await peer.next(control.resume);
    peer.ws.terminate();
    const second = await server.accept();
    expect((await second.next(control.hello)).lastSeq).toBe(3);
    second.send(control.resumed, { ok: true, from: 4 });
    numbered(second, 4, 5);
    await new Promise<void>((wait) => {
      const h = c.on(quote, (_, meta) => {
        if (meta.seq !== 5) return;
        h.off();
        wait();
      });
    });
    second.ws.terminate();
    const third = await server.accept();
    expect((await third.next(control.hello)).lastSeq).toBe(5);
    third.send(control.resumed, { ok: false, from: 0 });
    numbered(third, 1, 2);
    expect(numbers(await done)).toEqual([1, 2, 3, 4, 5, 1, 2]);
    expect(recovered).toEqual([true, false]);
  });
});
