// A client with session/1 and the server that the test plays, for one test after the other.
import { WebSocket } from "ws";
import { afterEach, beforeEach } from "vitest";
import { connect } from "@ignex/nova-client";
import type { Client, Gap, NovaError, Options, State } from "@ignex/nova-client";
import * as control from "../src/control/index.js";
import { mixed, quote, schema, trade } from "./fixtures/market.js";
import { aQuote, aTrade, emptyMixed } from "./fixtures/values.js";
import { TestServer } from "./server.js";
import type { Peer } from "./server.js";

export let server: TestServer;
export let client: Client;
export let errors: NovaError[];
export let gaps: Gap[];
export let recovered: boolean[];
export let seen: number[];

beforeEach(async () => {
  server = await TestServer.start();
  server.greet = (peer) => peer.welcome(["session/1", "topics/1"], "early", ["staff"]);
  [errors, gaps, recovered, seen] = [[], [], [], []];
});
afterEach(async () => {
  client.close();
  await server.stop();
});

export function start(options: Options = {}): Client {
  client = connect(server.url, { schema, webSocket: WebSocket, reconnect: { initialMs: 1, maxMs: 20 }, ...options });
  client.onError((e) => errors.push(e));
  client.onGap((gap) => gaps.push(gap));
  client.onRecovered((ok) => recovered.push(ok));
  client.on(quote, (_, meta) => seen.push(meta.seq));
  return client;
}

export function reach(state: State): Promise<void> {
  if (client.status.state === state) return Promise.resolve();
  return new Promise((done) => {
    const handle = client.onStatus((s) => {
      if (s.state !== state) return;
      handle.off();
      done();
    });
  });
}

/** Resolves once a trade has been delivered, and with it all before. */
export async function settled(peer: Peer, seq?: number): Promise<void> {
  const done = new Promise<void>((done) => client.once(trade, () => done()));
  peer.send(trade, aTrade, seq === undefined ? {} : { seq });
  await done;
}

export const numbered = (peer: Peer, ...seqs: number[]) => seqs.forEach((seq) => peer.send(quote, { ...aQuote, ts: seq }, { seq }));
export const gap = (peer: Peer, from: number, to: number, reason: number, topic = "") => peer.send(control.novaGap, { topic, from, to, reason });
export const say = (id: string) => client.send(mixed, { ...emptyMixed, id });
export const outcome = (p: Promise<void>) => p.then(() => "ok", (e: NovaError) => e.code);
