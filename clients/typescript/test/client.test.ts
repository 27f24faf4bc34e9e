import { WebSocket } from "ws";
import { describe, expect, test } from "vitest";
import { connect, createClient } from "@ignex/nova-client";
import type { Meta } from "@ignex/nova-client";
import { Writer } from "@ignex/nova-client/wire";
import * as control from "../src/control/index.js";
import { bigVal, mixed, quote, schema, trade } from "./fixtures/market.js";
import { aQuote, aTrade, emptyMixed } from "./fixtures/values.js";
import { client, collect, errors, own, q, reach, server, start } from "./harness.js";
import { frameOf } from "./server.js";

describe("connecting", () => {
  test("hello first, status and identity after welcome", async () => {
    server.greet = (peer) => peer.welcome(["topics/9", `schema/${schema.fingerprint}`], "c-7", ["staff"]);
    own(createClient(server.url, { schema, webSocket: WebSocket }));
    const states: string[] = [client.status.state];
    client.onStatus((s) => states.push(s.state));
    client.connect();
    const peer = await server.accept();
    await reach(client, "connected");
    expect(await peer.next(control.hello)).toEqual({ version: 2, caps: ["session/1", "topics/1", "batch/1", `schema/${schema.fingerprint}`], lastSeq: 0 });
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
    expect(client!.status.reason).toBe("wire version 3, want 2");
  });

  test("another schema is told once", async () => {
    server.greet = (peer) => peer.welcome(["schema/ffffffffffffffff"]);
    start();
    (await server.accept()).ws.terminate();
    await server.accept();
    await reach(client!, "connected");
    expect(errors.map((e) => e.code)).toEqual(["failed_precondition"]);
  });

  test.each([["not a url", "is not a ws, wss"], ["ftp://x/", "ws, wss, http or https"]])("address %j", (url, message) => {
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
      "unknown event id 0xdeadbeef: is the schema too old?",
      "the frame is too short: 3 bytes",
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
    own(connect(server.url, { webSocket: WebSocket }));
    client.onError((e) => errors.push(e));
    const done = collect(client, bigVal, 1);
    const peer = await server.accept();
    peer.send(bigVal, { id: "x", seq: 2n ** 60n, when: 1 });
    expect((await done)[0]!.value).toEqual({ id: "x", seq: 2n ** 60n, when: 1 });
  });
});

describe("sending", () => {
  test("before and after the connection, in order", async () => {
    own(createClient(server.url, { schema, webSocket: WebSocket }));
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
    own(createClient(server.url, { webSocket: WebSocket }));
    client.onError(() => {});
    const sent = client.send(mixed, emptyMixed);
    client.close();
    await expect(sent).rejects.toMatchObject({ code: "cancelled" });
    await expect(client.send(mixed, emptyMixed)).rejects.toMatchObject({ code: "failed_precondition" });
  });
});
