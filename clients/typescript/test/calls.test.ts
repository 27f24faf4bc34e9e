// calls/1 against a server that the test plays.
import { describe, expect, test } from "vitest";
import type { NovaError } from "@ignex/nova-client";
import { call, enableCalls, onCall, request } from "@ignex/nova-client/calls";
import { Reader, Writer, type Table } from "@ignex/nova-client/wire";
import { WebSocket } from "ws";
import { connect, createClient } from "@ignex/nova-client";
import * as control from "../src/control/index.js";
import { getQuote, quote, schema } from "./fixtures/market.js";
import { aQuote } from "./fixtures/values.js";
import type { Peer } from "./server.js";
import { client, errors, reach, recovered, say, server, start } from "./sessionharness.js";

const CAPS = ["session/1", "topics/1", "calls/1"];
const code = (p: Promise<unknown>) => p.then(() => "ok", (e: NovaError) => e.code);
const text = (p: Promise<unknown>) => p.then(() => "ok", (e: NovaError) => `${e.code}: ${e.message}`);
const encode = <T>(table: Table<T>, value: T) => new Writer().payload(table, value).slice();
const decode = <T>(table: Table<T>, b: Uint8Array) => new Reader().payload(new DataView(b.buffer, b.byteOffset, b.length), 0, b.length, table);
const reply = (peer: Peer, id: number, bid = 1) =>
  peer.send(control.novaReply, { id, code: 0, message: "", payload: encode(quote.table, { ...aQuote, bid }) });

/** A connection with calls. */
async function open(answer: Partial<control.Session> = {}): Promise<Peer> {
  server.greet = (peer) => peer.welcome(CAPS, "c1");
  start();
  enableCalls(client);
  const peer = await server.accept();
  await peer.session(answer);
  await reach("connected");
  return peer;
}

describe("call", () => {
  test("is numbered among the events, and answered by id", async () => {
    const peer = await open();
    expect((await peer.next(control.hello)).caps).toEqual(["session/1", "topics/1", "batch/1", `schema/${schema.fingerprint}`, "calls/1"]);
    void say("a");
    const first = call(client, getQuote, { symbol: "A" }, { deadlineMs: 500.5, trace: "t" });
    const second = call(client, getQuote, { symbol: "B" });
    const a = await peer.take(control.novaCall);
    const b = await peer.take(control.novaCall);
    expect([a.seq, b.seq]).toEqual([2, 3]);
    expect({ ...a.value, payload: undefined }).toEqual({ id: 1, name: "getQuote", deadlineMs: 501, trace: "t", payload: undefined });
    expect(decode(getQuote.request, b.value.payload)).toEqual({ symbol: "B" });
    expect(b.value.deadlineMs).toBe(10_000);
    reply(peer, 2, 22);
    reply(peer, 1, 11);
    reply(peer, 7);
    expect([(await first).bid, (await second).bid]).toEqual([11, 22]);
  });

  test("errors keep their code and message; unknown codes are unknown", async () => {
    const peer = await open();
    for (const [number, want] of [[5, "not_found: gone"], [13, "internal: gone"], [99, "unknown: gone"]] as const) {
      const failed = text(call(client, getQuote, { symbol: "A" }));
      const { id } = await peer.next(control.novaCall);
      peer.send(control.novaReply, { id, code: number, message: "gone", payload: new Uint8Array() });
      expect(await failed).toBe(want);
    }
    const garbled = code(call(client, getQuote, { symbol: "A" }));
    peer.send(control.novaReply, { id: (await peer.next(control.novaCall)).id, code: 0, message: "", payload: new Uint8Array(9) });
    expect(await garbled).toBe("internal");
  });

  test("given up by signal or deadline: the server is told", async () => {
    const peer = await open();
    const abort = new AbortController();
    const aborted = code(call(client, getQuote, { symbol: "A" }, { signal: abort.signal }));
    const late = code(call(client, getQuote, { symbol: "B" }, { deadlineMs: 10 }));
    await peer.next(control.novaCall);
    abort.abort();
    expect([await aborted, await late]).toEqual(["cancelled", "deadline_exceeded"]);
    expect([(await peer.next(control.novaCancel)).id, (await peer.next(control.novaCancel)).id]).toEqual([1, 2]);
    expect(await code(call(client, getQuote, { symbol: "A" }, { signal: abort.signal }))).toBe("cancelled");
    expect(await code(call(client, getQuote, { symbol: "A" }, { deadlineMs: -1 }))).toBe("invalid");
    expect(await code(call(client, getQuote, {} as never))).toBe("invalid");
  });

  test("lost: unknown at once, repeated with its number, and no answer is awaited", async () => {
    let peer = await open();
    const lost = code(call(client, getQuote, { symbol: "A" }));
    await peer.next(control.novaCall);
    peer.ws.terminate();
    expect(await lost).toBe("unknown_outcome");
    const next = call(client, getQuote, { symbol: "B" }); // waits for the connection
    peer = await server.accept();
    await peer.session({ recovered: true, nextSeq: 1, received: 0 });
    const [a, b] = [await peer.take(control.novaCall), await peer.take(control.novaCall)];
    expect([a.seq, a.value.id, b.seq, b.value.id]).toEqual([1, 1, 2, 2]);
    reply(peer, 1);
    reply(peer, 2);
    expect((await next).symbol).toBe(aQuote.symbol);
    expect(errors).toEqual([]);
  });

  test("another session on the same connection: calls under way are unknown", async () => {
    const peer = await open();
    const lost = code(call(client, getQuote, { symbol: "A" }));
    await peer.next(control.novaCall);
    peer.send(control.novaAck, { seq: 1 });
    peer.send(control.novaSession, {
      session: "n2.b", clientId: "c9", recovered: false, nextSeq: 1, missed: 0, received: 100, ttlMs: 1, heartbeatMs: 0, maxMessage: 0, rate: 0, burst: 0,
    });
    expect(await lost).toBe("unknown_outcome");
    expect(recovered).toEqual([false]);
    const next = call(client, getQuote, { symbol: "B" });
    expect((await peer.take(control.novaCall)).seq).toBe(101);
    reply(peer, 2);
    await next;
  });

  test("a new session after a loss: what waited is sent and not failed", async () => {
    let peer = await open();
    peer.ws.terminate();
    await reach("reconnecting");
    const waits = call(client, getQuote, { symbol: "A" });
    peer = await server.accept();
    await peer.session({ session: "n2.b" });
    reply(peer, (await peer.next(control.novaCall)).id);
    await waits;
  });

  test("a server without calls: unimplemented, nothing is sent", async () => {
    start();
    const before = code(call(client, getQuote, { symbol: "A" }));
    const peer = await server.accept();
    await peer.session();
    expect(await before).toBe("unimplemented");
    expect(await code(call(client, getQuote, { symbol: "B" }))).toBe("unimplemented");
    expect(peer.received.filter((r) => r.name === "nova.call")).toEqual([]);
  });

  test("first used on a connection that is up: it is made anew, and the session goes on", async () => {
    server.greet = (peer) => peer.welcome(CAPS, "c1");
    start();
    let peer = await server.accept();
    await peer.session();
    await reach("connected");
    const answer = call(client, getQuote, { symbol: "A" });
    expect((await peer.end()).code).toBe(4000);
    peer = await server.accept();
    expect((await peer.session({ recovered: true, nextSeq: 1 })).session).toBe("n1.aaaa");
    reply(peer, (await peer.next(control.novaCall)).id);
    expect((await answer).bid).toBe(1);
  });

  test("first used between both hellos: who pauses or closes meanwhile stays so", async () => {
    for (const [end, state, code] of [["pause", "idle", 4000], ["close", "closed", 1000]] as const) {
      server.greet = () => {};
      start();
      const peer = await server.accept();
      await peer.next(control.hello);
      enableCalls(client);
      client.onError(() => client[end]()); // which is told of another schema
      peer.welcome([...CAPS, "schema/ffffffffffffffff"]);
      expect((await peer.end()).code).toBe(code);
      expect(client.status.state).toBe(state);
      client.close();
    }
  });

  test("close rejects: not sent is cancelled, sent is unknown", async () => {
    const peer = await open();
    const sent = code(call(client, getQuote, { symbol: "A" }));
    await peer.next(control.novaCall);
    client.close();
    expect(await sent).toBe("unknown_outcome");
    expect(await code(call(client, getQuote, { symbol: "A" }))).toBe("failed_precondition");
    const other = createClient(server.url, { webSocket: WebSocket });
    const waits = code(call(other, getQuote, { symbol: "A" }));
    const asks = code(request(other, quote, aQuote));
    other.close();
    expect([await waits, await asks]).toEqual(["cancelled", "cancelled"]);
  });
});

describe("onCall", () => {
  const ask = (peer: Peer, id: number, name = "getQuote", payload = encode(getQuote.request, { symbol: "S" }), deadlineMs = 0) =>
    peer.send(control.novaCall, { id, name, deadlineMs, trace: "tr", payload });

  test("answers, with what a handler throws told to onError alone", async () => {
    const peer = await open();
    expect(() => [onCall(client, getQuote, () => aQuote), onCall(client, getQuote, () => aQuote)]).toThrow("has a handler");
    ask(peer, 1);
    const got = await peer.next(control.novaReply);
    expect([got.id, got.code, decode(quote.table, got.payload)]).toEqual([1, 0, aQuote]);
    ask(peer, 2, "other");
    expect(await peer.next(control.novaReply)).toMatchObject({ id: 2, code: 12, message: "no handler for other" });
    ask(peer, 3, "getQuote", new Uint8Array(3));
    expect(await peer.next(control.novaReply)).toMatchObject({ id: 3, code: 3 });
    ask(peer, 4, "getQuote", undefined, -5);
    expect(await peer.next(control.novaReply)).toMatchObject({ id: 4, code: 4 });
    expect(errors).toEqual([]);
  });

  test("a handler that follows its signal: the caller learns of the deadline, and onError of nothing", async () => {
    const peer = await open();
    onCall(client, getQuote, (_, { signal }) => new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason))));
    ask(peer, 1, "getQuote", undefined, 1);
    expect(await peer.next(control.novaReply)).toMatchObject({ id: 1, code: 4, message: "the time for the call is over" });
    ask(peer, 2);
    peer.send(control.novaCancel, { id: 2 });
    expect(await peer.next(control.novaReply)).toMatchObject({ id: 2, code: 1 });
    expect(errors).toEqual([]);
  });

  test("a handler that throws, waits, or is one too many", async () => {
    const peer = await open();
    let mode = "throw";
    let release = () => {};
    const opened = new Promise<void>((done) => (release = done));
    const signals: AbortSignal[] = [];
    onCall(client, getQuote, async (_, { signal, trace }) => {
      signals.push(signal);
      expect(trace).toBe("tr");
      if (mode === "throw") throw new Error("a secret");
      await opened;
      return aQuote;
    });
    ask(peer, 1);
    expect(await peer.next(control.novaReply)).toMatchObject({ id: 1, code: 13, message: "internal error" });
    expect(errors.map((e) => e.message)).toEqual(["a handler of call getQuote threw: Error: a secret"]);
    mode = "wait";
    for (let id = 2; id <= 18; id++) ask(peer, id);
    expect(await peer.next(control.novaReply)).toMatchObject({ id: 18, code: 8 });
    peer.send(control.novaCancel, { id: 2 });
    void say("after");
    ask(peer, 19);
    await peer.next(control.novaReply);
    expect(signals[1]!.aborted).toBe(true);
    release();
    for (let id = 2; id <= 17; id++) expect(await peer.next(control.novaReply)).toMatchObject({ id, code: 0 });
  });
});

test("the base protocol's call: the same event both ways", async () => {
  server.greet = (peer) => peer.welcome([], "c1");
  client?.close();
  const base = connect(server.url, { schema, webSocket: WebSocket });
  const answer = request(base, quote, aQuote); // waits for the connection
  const peer = await server.accept();
  const ask = await peer.next(control.rpcCall);
  expect(ask.name).toBe("quote");
  expect(Buffer.from(ask.payloadB64, "base64")).toEqual(Buffer.from(new Writer().frame(quote.id, quote.table, aQuote)));
  peer.send(control.rpcResult, { id: "x", ok: true, err: "", payloadB64: "" });
  peer.send(control.rpcResult, { id: ask.id, ok: true, err: "", payloadB64: ask.payloadB64 });
  expect(await answer).toEqual(aQuote);
  const failed = text(request(base, quote, aQuote));
  peer.send(control.rpcResult, { id: (await peer.next(control.rpcCall)).id, ok: false, err: "no handler for quote", payloadB64: "" });
  expect(await failed).toBe("unknown: no handler for quote");
  const garbled = code(request(base, quote, aQuote));
  peer.send(control.rpcResult, { id: (await peer.next(control.rpcCall)).id, ok: true, err: "", payloadB64: "AAAA" });
  expect(await garbled).toBe("internal");
  const lost = code(request(base, quote, aQuote));
  await peer.next(control.rpcCall);
  peer.ws.terminate();
  expect(await lost).toBe("unknown_outcome");
  base.close();
});
