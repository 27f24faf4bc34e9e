// Topics and groups over sessions, against a server that the test plays.
import { describe, expect, test } from "vitest";
import * as control from "../src/control/index.js";
import { refOf } from "../src/topic.js";
import { mixed, quote } from "./fixtures/market.js";
import { aQuote } from "./fixtures/values.js";
import { frameOf, type Peer } from "./server.js";
import { client, errors, gap, gaps, reach, say, seen, server, settled, start } from "./sessionharness.js";

describe("topics and groups over sessions", () => {
  const answerFor = (peer: Peer, id: number, topic: string, offset: number, seq: number, ok = false) =>
    peer.send(control.novaSubscribed, { id, topic, epoch: "e", offset, recovered: ok, replayed: 0 }, { seq });
  const event = (peer: Peer, topic: string, offset: number, seq: number) =>
    peer.send(quote, aQuote, { seq, trailer: { ref: refOf("e", topic), offset } });

  test("recovered: nothing is joined again, and nothing delivered twice", async () => {
    start();
    const sub = client.subscribe("t");
    client.joinGroup("g");
    let peer = await server.accept();
    await peer.session();
    const { id } = await peer.next(control.novaSubscribe);
    await peer.next(control.joinGroup);
    const { ts } = await peer.next(control.ping);
    answerFor(peer, id, "t", 0, 1);
    event(peer, "t", 1, 2);
    peer.send(control.pong, { ts: ts + 1000 }); // what was told before is read
    await settled(peer, 3);
    peer.ws.terminate();
    peer = await server.accept();
    expect(await peer.session({ recovered: true, nextSeq: 4 })).toMatchObject({ topics: [{ topic: "t", epoch: "e", offset: 1 }] });
    event(peer, "t", 2, 4);
    event(peer, "t", 2, 5);
    await settled(peer, 6);
    expect(sub.position).toEqual({ epoch: "e", offset: 2 });
    expect([seen, client.stats.stale]).toEqual([[2, 4], 1]);
    await peer.next(control.ping);
    expect(peer.received.map((r) => r.name)).toEqual(["hello"]);
  });

  test("recovered: what the server may not have read is told again", async () => {
    start();
    let peer = await server.accept();
    await peer.session();
    await reach("connected");
    client.subscribe("a").close();
    client.subscribe("b");
    client.joinGroup("g");
    client.leaveGroup("h");
    const { id } = await peer.next(control.novaSubscribe).then(() => peer.next(control.novaSubscribe));
    peer.ws.terminate();
    await reach("reconnecting");
    client.subscribe("c");
    peer = await server.accept();
    await peer.session({ recovered: true });
    expect((await peer.next(control.novaSubscribe))).toMatchObject({ topic: "b", id });
    expect((await peer.next(control.novaSubscribe))).toMatchObject({ topic: "c" });
    expect((await peer.next(control.unsubscribe)).topic).toBe("a");
    expect((await peer.next(control.joinGroup)).group).toBe("g");
    expect((await peer.next(control.leaveGroup)).group).toBe("h");
    answerFor(peer, id, "b", 0, 1);
    event(peer, "b", 1, 2);
    answerFor(peer, id, "b", 0, 3); // the second answer says nothing new
    event(peer, "b", 1, 4);
    await settled(peer, 5);
    expect(seen).toEqual([2]);
  });

  test("recovered: a leave and the join after it are told again, in this order, until the join is answered", async () => {
    start();
    const sub = client.subscribe("t");
    let peer = await server.accept();
    await peer.session();
    answerFor(peer, (await peer.next(control.novaSubscribe)).id, "t", 5, 1);
    await settled(peer, 2);
    peer.ws.terminate(); // what follows is never read
    sub.close();
    client.subscribe("t");
    peer = await server.accept();
    await peer.session({ recovered: true, nextSeq: 3 });
    const { id, ...request } = await peer.next(control.novaSubscribe);
    expect(request).toEqual({ topic: "t", epoch: "", offset: 0, limit: 0 });
    await peer.next(control.ping);
    expect(peer.received.map((r) => r.name)).toEqual(["hello", "unsubscribe"]); // before the subscribe: taken in order
    answerFor(peer, id, "t", 0, 3);
    event(peer, "t", 1, 4);
    await settled(peer, 5);
    expect([seen, gaps]).toEqual([[4], []]);
    peer.ws.terminate();
    peer = await server.accept();
    await peer.session({ recovered: true, nextSeq: 6 });
    await peer.next(control.ping);
    expect(peer.received.map((r) => r.name)).toEqual(["hello"]);
  });

  test("a join by the server that crosses the leave: who subscribes again asks, from the beginning", async () => {
    start();
    let peer = await server.accept();
    await peer.session();
    const sub = client.subscribe("t");
    answerFor(peer, (await peer.next(control.novaSubscribe)).id, "t", 0, 1);
    await settled(peer, 2);
    sub.close();
    await peer.next(control.unsubscribe);
    answerFor(peer, 0, "t", 5, 3);
    event(peer, "t", 6, 4); // of the membership that was left: for nobody's subscription
    await settled(peer, 5);
    const got: number[] = [];
    const again = client.subscribe("t");
    again.on(quote, (_, meta) => got.push(meta.offset!));
    const { id, ...request } = await peer.next(control.novaSubscribe);
    expect(request).toEqual({ topic: "t", epoch: "", offset: 0, limit: 0 });
    event(peer, "t", 7, 6);
    answerFor(peer, 0, "t", 7, 7); // also of the time before the request
    peer.send(control.novaUnsubscribed, { topic: "t", code: 7, message: "" }, { seq: 8 });
    answerFor(peer, id, "t", 4, 9);
    for (const [offset, seq] of [[5, 10], [6, 11], [7, 12], [8, 13]] as const) event(peer, "t", offset, seq);
    await settled(peer, 14);
    expect([got, gaps, errors, again.position]).toEqual([[5, 6, 7, 8], [], [], { epoch: "e", offset: 8 }]);
  });

  test("a topic that the server put us in while we left it is not asked for in a new session", async () => {
    start();
    let peer = await server.accept();
    await peer.session();
    const sub = client.subscribe("t");
    answerFor(peer, (await peer.next(control.novaSubscribe)).id, "t", 0, 1);
    answerFor(peer, 0, "vip", 3, 2);
    await settled(peer, 3);
    sub.close();
    await peer.next(control.unsubscribe);
    answerFor(peer, 0, "t", 5, 4);
    await settled(peer, 5);
    peer.ws.terminate();
    peer = await server.accept();
    expect((await peer.next(control.novaAttach)).topics).toEqual([{ topic: "vip", epoch: "e", offset: 3 }]);
  });

  test("topics of an attach without an answer are asked for from a server without sessions", async () => {
    start();
    client.subscribe("t");
    let peer = await server.accept();
    await peer.session();
    answerFor(peer, (await peer.next(control.novaSubscribe)).id, "t", 0, 1);
    await settled(peer, 2);
    peer.ws.terminate();
    peer = await server.accept();
    expect((await peer.next(control.novaAttach)).topics).toHaveLength(1);
    server.greet = (p) => p.welcome();
    peer.ws.terminate();
    peer = await server.accept();
    expect((await peer.next(control.subscribe)).topic).toBe("t");
  });

  test("not recovered: positions go in attach, others are joined, what was left meanwhile is left", async () => {
    start();
    const kept = client.subscribe("kept");
    const left = client.subscribe("left");
    client.joinGroup("g");
    let peer = await server.accept();
    await peer.session();
    for (const [topic, seq] of [["kept", 1], ["left", 2]] as const) {
      answerFor(peer, (await peer.next(control.novaSubscribe)).id, topic, 7, seq);
    }
    await settled(peer, 3);
    peer.ws.terminate();
    await reach("reconnecting");
    client.subscribe("new");
    peer = await server.accept();
    const attach = await peer.next(control.novaAttach);
    expect(attach.topics).toEqual([{ topic: "kept", epoch: "e", offset: 7 }, { topic: "left", epoch: "e", offset: 7 }]);
    left.close();
    await new Promise<void>((done) => {
      peer.received.unshift({ name: "nova.attach", value: attach, seq: 0 });
      void peer.session({ session: "n1.new" }).then(() => done());
    });
    expect((await peer.next(control.unsubscribe)).topic).toBe("left");
    expect(await peer.next(control.novaSubscribe)).toMatchObject({ topic: "new", epoch: "", offset: 0 });
    expect((await peer.next(control.joinGroup)).group).toBe("g");
    answerFor(peer, 0, "kept", 7, 1, true);
    event(peer, "kept", 8, 2);
    await settled(peer, 3);
    expect([kept.recovered, kept.position?.offset]).toEqual([true, 8]);
    expect(peer.received.filter((r) => r.name === "nova.subscribe")).toEqual([]);
  });

  // The same cases as TestTopicGaps of the Go client.
  test.each([
    ["recovered at the position", "e", 7, true, []],
    ["not recovered, further on", "e", 9, false, [{ topic: "t", from: 8, to: 9, reason: "lost" }]],
    ["not recovered, further back", "e", 3, false, [{ topic: "t", from: 8, to: undefined, reason: "lost" }]],
    ["not recovered, at the position", "e", 7, false, []],
    ["another life of the topic", "f", 0, false, [{ topic: "t", from: 8, to: undefined, reason: "lost" }]],
  ] as const)("a new session: %s", async (_, epoch, offset, ok, want) => {
    start();
    const sub = client.subscribe("t", { from: { epoch: "e", offset: 7 } });
    const peer = await server.accept();
    expect((await peer.session()).topics).toEqual([{ topic: "t", epoch: "e", offset: 7 }]);
    peer.send(control.novaSubscribed, { id: 0, topic: "t", epoch, offset, recovered: ok, replayed: 0 }, { seq: 1 });
    gap(peer, offset + 1, offset + 2, 5, "t");
    gap(peer, offset + 1, offset + 3, 1, "t"); // superseded: no loss
    gap(peer, offset + 1, offset + 2, 5, "t"); // told before
    await settled(peer, 2);
    expect(gaps).toEqual([...want, { topic: "t", from: offset + 1, to: offset + 2, reason: "log" }]);
    expect([sub.recovered, sub.position]).toEqual([ok, { epoch, offset: offset + 3 }]);
  });

  test("an attach lists no more than the server's largest message takes, the others are joined", async () => {
    start();
    const names = Array.from({ length: 40 }, (_, n) => `${10 + n}${"x".repeat(253)}`);
    for (const name of names) client.subscribe(name);
    const peer = await server.accept();
    await peer.session({ maxMessage: 4096 });
    let seq = 0;
    for (const topic of names) {
      const { id } = await peer.next(control.novaSubscribe);
      peer.send(control.novaSubscribed, { id, topic, epoch: "e".repeat(22), offset: 7, recovered: false, replayed: 0 }, { seq: ++seq });
    }
    await settled(peer, ++seq);
    peer.ws.terminate();
    const next = await server.accept();
    const attach = await next.session({ session: "n1.bbbb" });
    expect(frameOf(control.novaAttach, attach).length).toBeLessThan(4096);
    expect(attach.topics.length).toBeGreaterThan(8);
    for (const topic of names.slice(attach.topics.length)) {
      expect(await next.next(control.novaSubscribe)).toMatchObject({ topic, epoch: "e".repeat(22), offset: 7 });
    }
  });

  test("limit goes along, also when the topic is joined again from a position", async () => {
    start();
    expect(() => client.subscribe("t", { limit: 0 })).toThrow("limit 0 is not a positive integer");
    client.subscribe("t", { limit: 5 });
    let peer = await server.accept();
    await peer.session();
    const { id, limit } = await peer.next(control.novaSubscribe);
    expect(limit).toBe(5);
    answerFor(peer, id, "t", 7, 1);
    await settled(peer, 2);
    peer.ws.terminate();
    peer = await server.accept();
    expect((await peer.session({ session: "n1.new" })).topics).toEqual([]);
    expect(await peer.next(control.novaSubscribe)).toMatchObject({ topic: "t", epoch: "e", offset: 7, limit: 5 });
  });

  test("a rate: what the application sends and the topics joined keep below it", async () => {
    start();
    const topics = Array.from({ length: 15 }, (_, i) => `t${i}`);
    for (const topic of topics) client.subscribe(topic);
    const peer = await server.accept();
    await peer.session({ rate: 100, burst: 10 });
    const began = performance.now();
    const sent = ["a", "b", "c"].map(say);
    for (const topic of topics) expect((await peer.next(control.novaSubscribe)).topic).toBe(topic);
    for (const id of ["a", "b", "c"]) expect((await peer.next(mixed)).id).toBe(id);
    expect(performance.now() - began).toBeGreaterThan(80); // 19 frames, 10 at once, 100 a second
    peer.send(control.novaAck, { seq: 3 });
    await Promise.all(sent);
  });

  test("a refused group is not asked for again", async () => {
    start();
    client.joinGroup("g");
    const peer = await server.accept();
    await peer.session();
    await peer.next(control.joinGroup);
    peer.send(control.novaRejected, { id: 0, topic: "", group: "g", code: 7, message: "no" }, { seq: 1 });
    await settled(peer, 2);
    expect(errors.map((e) => [e.code, e.message])).toEqual([["denied", "group g: no"]]);
    peer.ws.terminate();
    const again = await server.accept();
    await again.session({ session: "n1.new" });
    await again.next(control.ping);
    expect(again.received.map((r) => r.name)).toEqual(["hello"]);
  });
});
