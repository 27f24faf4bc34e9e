// batch/1: several frames in one message, both ways.
import { WebSocket } from "ws";
import { expect, test } from "vitest";
import { batching } from "@ignex/nova-client/batch";
import * as control from "../src/control/index.js";
import { mixed, quote } from "./fixtures/market.js";
import { aQuote, emptyMixed } from "./fixtures/values.js";
import { frameOf } from "./server.js";
import type { Peer } from "./server.js";
import { client, errors, outcome, reach, recovered, say, seen, server, start } from "./sessionharness.js";

const CAPS = ["session/1", "topics/1", "batch/1"];
const numbered = (...seqs: number[]) => seqs.map((seq) => frameOf(quote, { ...aQuote, ts: seq }, { seq }));

/** Sends one message of these frames. */
function join(peer: Peer, ...frames: Uint8Array[]): void {
  peer.ws.send(Buffer.concat(frames));
}

/** A client with batch/1 whose session has begun. */
async function begun(caps = CAPS, maxMessage = 0): Promise<Peer> {
  server.greet = (peer) => peer.welcome(caps);
  start({ webSocket: batching(WebSocket as any) });
  const peer = await server.accept();
  await peer.session({ maxMessage });
  await reach("connected");
  return peer;
}

/** Waits until what was sent before has been read. */
async function read(peer: Peer): Promise<void> {
  const done = new Promise<void>((done) => client.once(mixed, () => done()));
  peer.ws.send(frameOf(mixed, { ...emptyMixed, id: "done" }));
  await done;
}

test("frames of one message arrive in order, with topics and declared gaps between them", async () => {
  const peer = await begun();
  join(peer, ...numbered(1, 2), frameOf(control.novaGap, { topic: "", from: 3, to: 5, reason: 1 }), ...numbered(6), frameOf(control.novaGroups, { groups: ["g"] }));
  await read(peer);
  expect([seen, client.groups, errors]).toEqual([[1, 2, 6], ["g"], []]);
  expect(client.stats.frames).toBe(3 + 5 + 1); // hello, welcome, nova.session
});

test("behind an undecodable envelope the rest of the message is dropped, and counts once", async () => {
  for (const damage of [0, 17]) {
    const peer = await begun();
    const [, bad] = numbered(0, 0);
    bad![damage]! ^= 0x55;
    join(peer, ...numbered(1), bad!, ...numbered(2));
    peer.ws.send(numbered(2)[0]!);
    await read(peer);
    expect([seen, client.stats.undecodable, errors.length]).toEqual([[1, 2], 1, 1]);
    client.close();
    seen.length = errors.length = 0;
  }
});

test("a payload that does not decode takes nothing else with it", async () => {
  const peer = await begun();
  const frames = numbered(1, 2, 3);
  frames[1]![18]! ^= 0x55;
  join(peer, ...frames);
  await read(peer);
  expect([seen, client.stats.undecodable]).toEqual([[1, 3], 1]);
});

test("a server without batch/1 sends one frame a message", async () => {
  const peer = await begun(["session/1", "topics/1"]);
  join(peer, ...numbered(1, 2));
  await read(peer);
  expect([seen, client.stats.undecodable]).toEqual([[], 1]);
});

test("a handler that ends the connection ends the message", async () => {
  const peer = await begun();
  client.once(quote, () => client.pause());
  join(peer, ...numbered(1, 2, 3));
  await peer.end();
  expect(seen).toEqual([1]);
  server.greet = (peer) => peer.welcome(CAPS);
  client.resume();
  const again = await server.accept();
  expect(await again.session({ recovered: true, nextSeq: 2 })).toMatchObject({ lastSeq: 1 });
  join(again, ...numbered(2, 3));
  await read(again);
  expect([seen, recovered]).toEqual([[1, 2, 3], [true]]);
});

test("what one task sends goes in one message, up to the server's limit", async () => {
  const peer = await begun();
  for (let i = 0; i < 50; i++) void say(`m${i}`);
  for (let i = 0; i < 50; i++) expect((await peer.next(mixed)).id).toBe(`m${i}`);
  expect(Math.max(...peer.messages)).toBeGreaterThan(20);
  client.close();
  const small = await begun(CAPS, 500);
  const size = frameOf(mixed, { ...emptyMixed, id: "m0" }).length;
  for (let i = 0; i < 10; i++) void say(`m${i}`);
  for (let i = 0; i < 10; i++) expect((await small.next(mixed)).id).toBe(`m${i}`);
  expect(Math.max(...small.messages)).toBe(Math.floor(500 / size));
});

test("towards a server without batch/1 each frame is a message", async () => {
  const peer = await begun(["session/1", "topics/1"]);
  for (let i = 0; i < 10; i++) void say(`m${i}`);
  for (let i = 0; i < 10; i++) expect((await peer.next(mixed)).id).toBe(`m${i}`);
  expect(Math.max(...peer.messages)).toBe(1);
});

test("what was held when the client closes is still sent; what a cut took is repeated", async () => {
  let peer = await begun();
  const sent = say("cut");
  peer.ws.terminate();
  peer = await server.accept();
  await peer.session({ recovered: true, nextSeq: 1 });
  expect(await peer.take(mixed)).toMatchObject({ value: { id: "cut" }, seq: 1 });
  peer.send(control.novaAck, { seq: 1 });
  expect(await outcome(sent)).toBe("ok");
  void outcome(say("last"));
  client.close();
  expect((await peer.next(mixed)).id).toBe("last");
});
