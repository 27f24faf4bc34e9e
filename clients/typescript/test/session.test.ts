// session/1 against a server that the test plays.
import { describe, expect, test } from "vitest";
import * as control from "../src/control/index.js";
import { mixed } from "./fixtures/market.js";
import type { EventDescriptor } from "@ignex/nova-client";
import { HUGE, tooLarge } from "./server.js";
import type { Peer } from "./server.js";
import { client, errors, gap, gaps, numbered, outcome, reach, recovered, say, seen, server, settled, start } from "./sessionharness.js";

describe("attach", () => {
  test("is the first frame after hello; nova.session makes the connection and gives the identity", async () => {
    start();
    const peer = await server.accept();
    const names: string[] = [];
    expect(await peer.session({ clientId: "me" })).toEqual({ session: "", lastSeq: 0, topics: [] });
    await reach("connected");
    names.push(...peer.received.map((r) => r.name));
    expect(names.slice(0, 1)).toEqual(["hello"]);
    expect([client.clientId, client.groups, recovered]).toEqual(["me", ["staff"], []]);
    peer.send(control.novaGroups, { groups: ["staff", "vip"] });
    await settled(peer);
    expect(client.groups).toEqual(["staff", "vip"]);
  });

  test("numbered frames before nova.session are discarded, unnumbered ones are not", async () => {
    start();
    const peer = await server.accept();
    numbered(peer, 7, 8);
    gap(peer, 9, 9, 2);
    await peer.session({ nextSeq: 5 });
    numbered(peer, 5);
    await settled(peer, 6);
    expect([seen, gaps]).toEqual([[5], []]);
  });

  test("recovered: goes on behind the last number, twice in a row, once before any frame", async () => {
    start();
    let peer = await server.accept();
    await peer.session();
    numbered(peer, 1, 2);
    await settled(peer, 3);
    const asked: unknown[] = [];
    for (let next = 4; next < 8; next += 2) {
      peer.ws.terminate();
      peer = await server.accept();
      asked.push(await peer.session({ recovered: true, nextSeq: next, session: `n1.${next}` }));
      numbered(peer, next);
      await settled(peer, next + 1);
    }
    peer.ws.terminate();
    peer = await server.accept();
    asked.push(await peer.session({ recovered: true, nextSeq: 8 }));
    await reach("connected");
    expect(asked).toEqual([
      { session: "n1.aaaa", lastSeq: 3, topics: [] },
      { session: "n1.4", lastSeq: 5, topics: [] },
      { session: "n1.6", lastSeq: 7, topics: [] },
    ]);
    expect([seen, recovered, gaps]).toEqual([[1, 2, 4, 6], [true, true, true], []]);
  });

  test("not recovered: follows the new numbers", async () => {
    start();
    let peer = await server.accept();
    await peer.session();
    numbered(peer, 1, 2, 3);
    await settled(peer);
    peer.ws.terminate();
    peer = await server.accept();
    await peer.session({ nextSeq: 1, session: "n2.bbbb" });
    numbered(peer, 1);
    await settled(peer);
    expect([seen, recovered]).toEqual([[1, 2, 3, 1], [false]]);
  });

  test("a server without sessions is followed, and says what is lost", async () => {
    start();
    let peer = await server.accept();
    await peer.session();
    await reach("connected");
    const sent = outcome(say("a"));
    await peer.next(mixed);
    server.greet = (p) => p.welcome();
    peer.ws.terminate();
    peer = await server.accept();
    expect(await sent).toBe("unknown_outcome");
    await reach("connected");
    expect(recovered).toEqual([false]);
    expect(await outcome(say("b"))).toBe("ok");
    expect((await peer.take(mixed)).seq).toBe(0);
  });

  test("pause keeps the session", async () => {
    start();
    const peer = await server.accept();
    await peer.session();
    numbered(peer, 1);
    await settled(peer, 2);
    client.pause();
    expect((await peer.end()).code).toBe(4000);
    client.resume();
    expect(await (await server.accept()).session({ recovered: true, nextSeq: 3 })).toMatchObject({ session: "n1.aaaa", lastSeq: 2 });
    await reach("connected");
  });
});

describe("the gate", () => {
  test.each([
    ["a hole", (p: Peer) => numbered(p, 1, 3)],
    ["a duplicate", (p: Peer) => numbered(p, 1, 1)],
    ["a gap ahead", (p: Peer) => gap(p, 2, 3, 2)],
    ["a gap behind", (p: Peer) => (numbered(p, 1, 2), gap(p, 1, 2, 2))],
    ["an ack of what was never sent", (p: Peer) => p.send(control.novaAck, { seq: 1 })],
    ["nova.session elsewhere", (p: Peer) => p.send(control.novaSession, { ...answer, nextSeq: 0 })],
  ])("%s closes 1002", async (_, act) => {
    start();
    const peer = await server.accept();
    await peer.session();
    act(peer);
    expect((await peer.end()).code).toBe(1002);
    expect(client.status).toMatchObject({ state: "closed", code: 1002 });
    expect(client.status.reason).toMatch(/^the server broke the protocol: /);
  });

  const answer: control.Session = {
    session: "n1.x", clientId: "c", recovered: true, nextSeq: 1, missed: 0, received: 0, ttlMs: 1, heartbeatMs: 0, maxMessage: 0, rate: 0, burst: 0,
  };

  const word = (id: number, offset: number): control.TopicSubscribed => ({ id, topic: "t", epoch: "e", offset, recovered: false, replayed: 0 });
  const hole = (from: number, to: number, topic = "") => ({ topic, from, to, reason: 2 });

  // Numbers that no session and no topic has: 1002 as in the Go client, whatever
  // the application wants of its own integers, and no timer is left to fail.
  test.each([
    ["nova.gap to", control.novaGap, hole(1, HUGE)],
    ["nova.gap from", control.novaGap, hole(HUGE, HUGE)],
    ["nova.gap from", control.novaGap, hole(-1, 1)],
    ["nova.gap that ends before it begins", control.novaGap, hole(1, 0)],
    ["nova.gap to, of a topic", control.novaGap, hole(1, HUGE, "t")],
    ["nova.gap from, of a topic", control.novaGap, hole(-5, 3, "t")],
    ["nova.session next_seq", control.novaSession, { ...answer, recovered: false, nextSeq: HUGE }],
    ["nova.session next_seq", control.novaSession, { ...answer, recovered: false, nextSeq: -1 }],
    ["nova.session received", control.novaSession, { ...answer, recovered: false, received: HUGE }],
    ["nova.session received", control.novaSession, { ...answer, recovered: false, received: -1 }],
    ["nova.ack seq", control.novaAck, { seq: HUGE }],
    ["nova.ack seq", control.novaAck, { seq: -1 }],
    ["nova.subscribed offset", control.novaSubscribed, word(0, HUGE)],
    ["nova.subscribed offset", control.novaSubscribed, word(0, -1)],
  ] as [string, EventDescriptor<any>, object][])("impossible %s closes 1002: %#", async (_, event, value) => {
    for (const int64 of ["warn", "error"] as const) {
      start({ int64 });
      const peer = await server.accept();
      await peer.session();
      await reach("connected");
      peer.ws.send(tooLarge(event, value, event === control.novaSubscribed ? { seq: 1 } : {}));
      expect((await peer.end()).code).toBe(1002);
      expect(client.status).toMatchObject({ state: "closed", reason: `the server broke the protocol: impossible ${event.name}` });
      expect([errors, gaps]).toEqual([[], []]);
    }
  });

  test.each([HUGE, -1])("limits beyond reason are bounded, not believed: %d", async (n) => {
    start();
    const peer = await server.accept();
    await peer.next(control.novaAttach);
    peer.ws.send(tooLarge(control.novaSession, { ...answer, recovered: false, ttlMs: n, heartbeatMs: n, maxMessage: n, rate: n, burst: n, missed: n }));
    const sent = say("a");
    expect((await peer.take(mixed)).seq).toBe(1);
    peer.send(control.novaAck, { seq: 1 });
    await sent;
    await settled(peer, 1);
    expect(peer.received.filter((r) => r.name === "ping")).toHaveLength(1);
  });

  test.each([
    ["recovered at another number", { recovered: true, nextSeq: 5 }],
    ["received what was never sent", { recovered: true, nextSeq: 2, received: 1 }],
  ])("%s closes 1002", async (_, answer) => {
    start();
    let peer = await server.accept();
    await peer.session();
    await settled(peer, 1);
    peer.ws.terminate();
    peer = await server.accept();
    await peer.session(answer);
    expect((await peer.end()).code).toBe(1002);
  });

  test("a session that changes on its connection begins anew, and numbers go on behind received", async () => {
    start();
    const peer = await server.accept();
    await peer.session();
    numbered(peer, 1);
    const lost = outcome(say("for the old user"));
    expect((await peer.take(mixed)).seq).toBe(1);
    const far = 2 ** 32;
    peer.send(control.novaSession, { ...answer, session: "n1.other", recovered: false, nextSeq: 2, received: far });
    numbered(peer, 2);
    await settled(peer, 3);
    expect(await lost).toBe("unknown_outcome");
    const next = outcome(say("for the new one"));
    expect((await peer.take(mixed)).seq).toBe(far + 1);
    peer.send(control.novaAck, { seq: far + 1 });
    expect(await next).toBe("ok");
    expect(recovered).toEqual([false]);
    expect(seen).toEqual([1, 2]);
    expect(errors.map((e) => e.code)).toEqual(["unknown_outcome"]);
  });

  test("holes are declared in their place; every reason but superseded is told", async () => {
    start();
    const peer = await server.accept();
    await peer.session();
    numbered(peer, 1);
    gap(peer, 2, 3, 1);
    numbered(peer, 4);
    gap(peer, 3, 6, 2); // repeats a part of the past
    gap(peer, 7, 7, 3);
    gap(peer, 8, 8, 4);
    gap(peer, 9, 9, 5);
    gap(peer, 10, 10, 77);
    await settled(peer, 11);
    expect(seen).toEqual([1, 4]);
    expect(gaps).toEqual([
      { from: 5, to: 6, reason: "policy" }, { from: 7, to: 7, reason: "withdrawn" }, { from: 8, to: 8, reason: "cluster" },
      { from: 9, to: 9, reason: "log" }, { from: 10, to: 10, reason: "lost" },
    ]);
  });

  test("gaps of a topic move its position", async () => {
    start();
    const sub = client.subscribe("t");
    const peer = await server.accept();
    await peer.session();
    const { id } = await peer.next(control.novaSubscribe);
    peer.send(control.novaSubscribed, { id, topic: "t", epoch: "e", offset: 4, recovered: false, replayed: 0 }, { seq: 1 });
    gap(peer, 3, 6, 5, "t");
    gap(peer, 7, 8, 1, "t");
    gap(peer, 1, 8, 5, "t"); // nothing new
    gap(peer, 1, 9, 5, "other");
    await settled(peer, 2);
    expect(gaps).toEqual([{ topic: "t", from: 5, to: 6, reason: "log" }]);
    expect(sub.position).toEqual({ epoch: "e", offset: 8 });
  });

  test("acknowledges every 64 frames and declared holes", async () => {
    start();
    const peer = await server.accept();
    await peer.session();
    for (let n = 1; n <= 100; n++) numbered(peer, n);
    gap(peer, 101, 200, 1);
    for (let n = 201; n <= 228; n++) numbered(peer, n);
    expect(await peer.next(control.novaAck)).toEqual({ seq: 64 });
    expect(await peer.next(control.novaAck)).toEqual({ seq: 227 });
  });
});

describe("upstream", () => {
  test("is numbered, and done when acknowledged", async () => {
    start();
    const first = outcome(say("a")); // waits for the session
    const peer = await server.accept();
    await peer.session();
    await reach("connected");
    const rest = ["b", "c"].map((id) => outcome(say(id)));
    for (const [id, seq] of [["a", 1], ["b", 2], ["c", 3]]) {
      const got = await peer.take(mixed);
      expect([got.value.id, got.seq]).toEqual([id, seq]);
    }
    client.snapshot("t", 3);
    client.joinGroup("g");
    expect((await peer.take(control.snapshotRequest)).seq).toBe(0);
    expect((await peer.take(control.joinGroup)).seq).toBe(0);
    peer.send(control.novaAck, { seq: 2 });
    peer.send(control.novaAck, { seq: 1 });
    expect([await first, await rest[0]]).toEqual(["ok", "ok"]);
    peer.send(control.novaAck, { seq: 3 });
    expect(await rest[1]).toBe("ok");
  });

  test("what the server has not received is sent again, with its number and before what is new", async () => {
    start();
    let peer = await server.accept();
    await peer.session();
    await reach("connected");
    const sent = ["a", "b", "c"].map((id) => outcome(say(id)));
    for (let i = 0; i < 3; i++) await peer.take(mixed);
    peer.ws.terminate();
    await reach("reconnecting");
    const late = outcome(say("d"));
    peer = await server.accept();
    await peer.session({ recovered: true, received: 1 });
    const got = [await peer.take(mixed), await peer.take(mixed), await peer.take(mixed)];
    expect(got.map((r) => [r.value.id, r.seq])).toEqual([["b", 2], ["c", 3], ["d", 4]]);
    expect(await sent[0]).toBe("ok");
    peer.send(control.novaAck, { seq: 4 });
    expect(await Promise.all([...sent, late])).toEqual(["ok", "ok", "ok", "ok"]);
    expect(errors).toEqual([]);
  });

  test("a lost session: unknown_outcome for what was sent, the rest is sent as new", async () => {
    start();
    let peer = await server.accept();
    await peer.session();
    await reach("connected");
    const sent = ["a", "b"].map((id) => outcome(say(id)));
    await peer.take(mixed);
    await peer.take(mixed);
    peer.ws.terminate();
    await reach("reconnecting");
    const late = outcome(say("c"));
    peer = await server.accept();
    await peer.session({ session: "n1.new" });
    expect(await Promise.all(sent)).toEqual(["unknown_outcome", "unknown_outcome"]);
    const got = await peer.take(mixed);
    expect([got.value.id, got.seq]).toEqual(["c", 1]);
    peer.send(control.novaAck, { seq: 1 });
    expect(await late).toBe("ok");
    expect(errors.map((e) => e.code)).toEqual(["unknown_outcome", "unknown_outcome"]);
  });

  test("close: unknown_outcome for what was sent, cancelled for what was not", async () => {
    start();
    const peer = await server.accept();
    await peer.session();
    await reach("connected");
    const sent = outcome(say("a"));
    await peer.take(mixed);
    peer.ws.terminate();
    await reach("reconnecting");
    const late = outcome(say("b"));
    client.close();
    expect([await sent, await late]).toEqual(["unknown_outcome", "cancelled"]);
  });
});

test("max_message: a larger frame is refused, when it is sent and when it waited for the connection; others go", async () => {
  start();
  const long = "x".repeat(2000);
  const waited = [say(long), say("a")].map(outcome);
  const peer = await server.accept();
  await peer.session({ maxMessage: 1000 });
  expect((await peer.take(mixed)).seq).toBe(1);
  expect(await outcome(say(long))).toBe("invalid");
  peer.send(control.novaAck, { seq: 1 });
  expect(await Promise.all(waited)).toEqual(["invalid", "ok"]);
  expect(peer.received.filter((r) => r.name === "mixed")).toEqual([]);
});

test.each([[-1, 1], [0, 1], [HUGE, 600_000]])("goaway with retry_after_ms %d: %d ms", async (asked, delay) => {
  start();
  const peer = await server.accept();
  await peer.session();
  await reach("connected");
  peer.ws.send(tooLarge(control.novaGoaway, { reason: "draining", retryAfterMs: asked }));
  peer.ws.close(1012, "service restart");
  await reach("reconnecting");
  expect(client.status).toMatchObject({ retryInMs: delay, code: 1012 });
});

test("goaway: the next attempt starts after exactly what the server asks, once", async () => {
  start();
  const peer = await server.accept();
  await peer.session();
  await reach("connected");
  peer.send(control.novaGoaway, { reason: "draining", retryAfterMs: 123 });
  peer.ws.close(1012, "service restart");
  await reach("reconnecting");
  expect(client.status).toMatchObject({ retryInMs: 123, code: 1012 });
  const again = await server.accept();
  again.ws.terminate();
}, 10_000);
