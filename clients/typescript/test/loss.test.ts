import { WebSocket } from "ws";
import { describe, expect, test } from "vitest";
import { connect } from "@ignex/nova-client";
import type { Meta } from "@ignex/nova-client";
import * as control from "../src/control/index.js";
import { mixed, quote } from "./fixtures/market.js";
import { emptyMixed } from "./fixtures/values.js";
import { client, collect, errors, own, q, quick, reach, renew, server, start } from "./harness.js";
import type { Peer } from "./server.js";

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

  test("1008 rate limit waits for half of the longest delay at least", async () => {
    const c = start({ reconnect: { initialMs: 1, maxMs: 40 } });
    const peer = await server.accept();
    await reach(c, "connected");
    peer.ws.close(1008, "rate limit exceeded");
    await reach(c, "reconnecting");
    expect(c.status.retryInMs).toBeGreaterThanOrEqual(20);
    expect(c.status.retryInMs).toBeLessThanOrEqual(40);
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
    own(connect(gone, { webSocket: WebSocket, reconnect: quick }));
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
    await renew();
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
