import { describe, expect, test } from "vitest";
import type { Meta } from "@ignex/nova-client";
import * as control from "../src/control/index.js";
import { refOf } from "../src/topic.js";
import { quote, trade } from "./fixtures/market.js";
import { aTrade } from "./fixtures/values.js";
import { collect, errors, q, reach, server, start } from "./harness.js";

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

  test("a subscription is told of its end once, and may be made again in it", async () => {
    server.greet = (peer) => peer.welcome(["topics/1"]);
    const c = start();
    const sub = c.subscribe("t");
    const told: unknown[] = [];
    sub.onEnd((e) => {
      told.push(e?.code);
      c.subscribe("t").onEnd((e) => told.push(e));
    });
    sub.onEnd(() => { throw new Error("boom"); });
    const peer = await server.accept();
    const { id } = await peer.next(control.novaSubscribe);
    peer.send(control.novaRejected, { id, topic: "t", group: "", code: 7, message: "no" });
    const again = await peer.next(control.novaSubscribe);
    expect([told, again.id]).toEqual([["denied"], id + 1]);
    expect(errors.map((e) => e.message)).toEqual(["topic t: no", "a listener of onEnd threw: Error: boom"]);
    sub.close();
    c.unsubscribe("t");
    await peer.next(control.unsubscribe);
    expect(told).toEqual(["denied", undefined]);
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
