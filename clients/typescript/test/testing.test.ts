// The test server, judged by the real client and, for what it says, by what the
// real server says in the same place (scenario.test.ts).
import { afterEach, beforeEach, expect, test } from "vitest";
import { createClient } from "@ignex/nova-client";
import type { Client, Gap, NovaError, Status } from "@ignex/nova-client";
import { TestServer } from "@ignex/nova-client/testing";
import { quote, schema, trade } from "./fixtures/market.js";
import { aQuote, aTrade } from "./fixtures/values.js";

const q = (n: number) => ({ ...aQuote, ts: n });
const order = (symbol: string) => ({ ...aTrade, symbol });

let server: TestServer;
let client: Client;
let errors: NovaError[];

function start(made = server.connect()): Client {
  client = made;
  client.onError((e) => errors.push(e));
  return client;
}

beforeEach(() => {
  server = new TestServer({ schema });
  errors = [];
});
afterEach(() => client?.close());

test("events arrive when publish returns", async () => {
  start();
  await server.connected();
  expect(client.status.state).toBe("connected");
  expect(client.clientId).toBe("client-1");
  const got: number[] = [];
  client.on(quote, (v) => got.push(v.ts));
  server.publish(quote, q(1));
  server.publish(quote, q(2), { clientId: "client-1" });
  server.publish(quote, q(3), { clientId: "somebody else" });
  expect(got).toEqual([1, 2]);
});

test("an event published by a handler comes after the one at hand", async () => {
  start();
  await server.connected();
  const got: number[] = [];
  client.on(quote, (v) => {
    if (v.ts === 1) server.publish(quote, q(2));
    got.push(v.ts);
  });
  server.publish(quote, q(1));
  expect(got).toEqual([1, 2]);
});

test("topics: retained events, positions, several clients", async () => {
  for (let n = 1; n <= 3; n++) server.publish(quote, q(n), { topic: "equities" });
  start();
  const got: [number, string | undefined, number | undefined][] = [];
  const sub = client.subscribe("equities");
  sub.on(quote, (v, meta) => got.push([v.ts, meta.topic, meta.offset]));
  await server.connected();
  server.publish(quote, q(4), { topic: "equities" });
  server.publish(quote, q(5), { topic: "bonds" });
  expect(got).toEqual([1, 2, 3, 4].map((n) => [n, "equities", n]));
  expect(sub.position).toEqual({ epoch: "epoch-1", offset: 4 });
  expect(server.clients).toEqual([{ clientId: "client-1", connected: true, topics: ["equities"], groups: [] }]);

  const other = server.connect();
  const late: number[] = [];
  other.subscribe("equities", { limit: 2 }).on(quote, (v) => late.push(v.ts));
  const live = other.subscribe("bonds", { from: "live" });
  live.on(quote, (v) => late.push(v.ts));
  await server.connected(2);
  server.flush();
  expect(late).toEqual([3, 4]);
  sub.close();
  server.publish(quote, q(6), { topic: "equities" });
  expect(got.length).toBe(4);
  expect(late).toEqual([3, 4, 6]);
  other.close();
  expect(server.clients.length).toBe(1);
  expect(errors).toEqual([]);
});

test("of an event with a key topics keep the newest value", async () => {
  const latest = { ...quote, retain: "latest", key: "symbol" } as const;
  for (const symbol of ["A", "B", "A"]) server.publish(latest, { ...q(1), symbol }, { topic: "t" });
  start();
  const got: string[] = [];
  client.subscribe("t").on(quote, (v, meta) => got.push(`${v.symbol}${meta.offset}`));
  await server.connected();
  server.flush();
  expect(got).toEqual(["B2", "A3"]);
});

test("groups", async () => {
  start();
  client.joinGroup("staff");
  await server.connected();
  server.flush();
  expect(client.groups).toEqual(["staff"]);
  const got: number[] = [];
  client.on(quote, (v) => got.push(v.ts));
  server.publish(quote, q(1), { group: "staff" });
  client.leaveGroup("staff");
  server.publish(quote, q(2), { group: "staff" });
  expect(got).toEqual([1]);
});

test("what clients send is received, and acknowledged", async () => {
  start();
  const sent = client.send(trade, order("A"));
  expect(await server.next(trade)).toEqual(order("A"));
  await sent;
  expect(server.received(trade)).toEqual([order("A")]);
  expect(server.received(quote)).toEqual([]);
  const waiting = server.next(trade);
  await client.send(trade, order("B"));
  expect((await waiting).symbol).toBe("B");
});

test("the server answers by a handler", async () => {
  server.on(trade, (value, from) => server.publish(trade, order(`${value.symbol} ${from.clientId}`)));
  start();
  const answer = new Promise<string>((done) => client.once(trade, (v) => done(v.symbol)));
  await client.send(trade, order("A"));
  expect(await answer).toBe("A client-1");
});

test("drop and restore: the session goes on, nothing is missed or handled twice", async () => {
  start();
  await server.connected();
  const got: number[] = [];
  const recovered: boolean[] = [];
  client.subscribe("t").on(quote, (v) => got.push(v.ts));
  client.onRecovered((r) => recovered.push(r));
  server.publish(quote, q(1), { topic: "t" });
  server.drop();
  expect(client.status).toMatchObject({ state: "reconnecting", code: 1006 });
  server.publish(quote, q(2), { topic: "t" });
  const sent = client.send(trade, order("A"));
  expect(server.received(trade)).toEqual([]);
  await server.restore();
  expect(client.status.state).toBe("connected");
  server.publish(quote, q(3), { topic: "t" });
  expect(got).toEqual([1, 2, 3]);
  expect(recovered).toEqual([true]);
  await sent;
  expect(server.received(trade)).toEqual([order("A")]);
  expect(errors).toEqual([]);
});

test("a restart: sessions are lost, topics go on from their positions", async () => {
  start();
  const got: number[] = [];
  const gaps: Gap[] = [];
  const recovered: boolean[] = [];
  client.onGap((g) => gaps.push(g));
  client.onRecovered((r) => recovered.push(r));
  client.subscribe("t").on(quote, (v) => got.push(v.ts));
  await server.connected();
  server.publish(quote, q(1), { topic: "t" });
  server.drop();
  server.publish(quote, q(2), { topic: "t" });
  server.publish(quote, q(9));
  await server.restore({ forget: true });
  expect(client.clientId).toBe("client-2");
  expect(got).toEqual([1, 2]);
  expect(recovered).toEqual([false]);
  expect(gaps).toEqual([]);
});

test("what is missed beyond 1,024 events is a gap", async () => {
  start();
  await server.connected();
  const gaps: Gap[] = [];
  let count = 0;
  client.onGap((g) => gaps.push(g));
  client.subscribe("t").on(quote, () => count++);
  server.publish(quote, q(0), { topic: "t" });
  server.drop();
  for (let n = 1; n <= 1100; n++) server.publish(quote, q(n), { topic: "t" });
  await server.restore();
  expect(count).toBe(1025);
  expect(gaps).toEqual([{ topic: "t", from: 2, to: 77, reason: "lost" }]);
});

test("a refused topic, and one that is taken away", async () => {
  server = new TestServer({ schema, refuseTopic: (t) => (t === "secret" ? "denied" : undefined) });
  start();
  client.subscribe("secret");
  client.subscribe("open");
  await server.connected();
  server.flush();
  expect(errors.map((e) => [e.code, e.topic])).toEqual([["denied", "secret"]]);
  server.kick("client-1", "open", "exhausted", "too many");
  expect(errors.slice(1).map((e) => [e.code, e.topic, e.message])).toEqual([["exhausted", "open", "topic open: too many"]]);
  expect(server.clients[0]!.topics).toEqual([]);
});

test("close codes and the time to come back", async () => {
  start();
  await server.connected();
  const seen: Status[] = [];
  client.onStatus((s) => seen.push(s));
  server.goaway(20);
  server.disconnect(1012, "restart");
  expect(seen).toEqual([{ state: "reconnecting", code: 1012, reason: "restart", attempt: 1, retryInMs: 20 }]);
  await server.connected();
  server.disconnect(4403, "banned");
  expect(client.status).toEqual({ state: "closed", code: 4403, reason: "banned" });
  expect(server.clients).toEqual([]);
});

test("pause keeps the session, close ends it", async () => {
  start();
  await server.connected();
  client.pause();
  expect(server.clients).toMatchObject([{ clientId: "client-1", connected: false }]);
  client.resume();
  await server.connected();
  expect(client.clientId).toBe("client-1");
  client.close();
  expect(server.clients).toEqual([]);
});

test("a token is asked for, and a client of one's own may be given", async () => {
  let asked = 0;
  start(createClient("wss://example.com/ws", { schema, webSocket: server.webSocket, token: async () => `t${++asked}` }));
  client.connect();
  await server.connected();
  expect(asked).toBe(1);
});

test("a client that gives up while it connects leaves nothing behind", async () => {
  start();
  client.close();
  await Promise.resolve();
  server.flush();
  expect(server.clients).toEqual([]);
  await server.restore();
});

test("what does not fit the event is refused", () => {
  expect(() => server.publish(quote, { ...q(1), ts: 0.5 })).toThrow(/ts: 0.5 is not an integer/);
  start();
  expect(() => server.kick("client-1", "t", "unknown_outcome")).not.toThrow();
});
