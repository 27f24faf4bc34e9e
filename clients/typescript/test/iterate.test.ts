import { afterEach, beforeEach, expect, test } from "vitest";
import type { Client, Gap } from "@ignex/nova-client";
import { iterate } from "@ignex/nova-client/iterate";
import { TestServer } from "@ignex/nova-client/testing";
import { quote, schema } from "./fixtures/market.js";
import { aQuote } from "./fixtures/values.js";

const q = (n: number, symbol = "A") => ({ ...aQuote, ts: n, symbol });

let server: TestServer;
let client: Client;

beforeEach(async () => {
  server = new TestServer({ schema });
  client = server.connect();
  await server.connected();
});
afterEach(() => client.close());

test("events in a loop, from the call on; leaving it leaves the topic", async () => {
  server.publish(quote, q(1), { topic: "t" });
  const loop = iterate(client, quote, { topic: "t" });
  server.publish(quote, q(2), { topic: "t" });
  server.publish(quote, q(3), { topic: "another" });
  server.publish(quote, q(4), { topic: "t" });
  const got: number[] = [];
  for await (const v of loop) {
    got.push(v.ts);
    if (v.ts === 4) server.publish(quote, q(5), { topic: "t" });
    if (v.ts === 5) break;
  }
  expect(got).toEqual([1, 2, 4, 5]);
  server.flush();
  expect(server.clients[0]!.topics).toEqual([]);
  expect(await loop.next()).toEqual({ value: undefined, done: true });
});

test("a loop waits, several at once, each gets every event", async () => {
  const [a, b] = [iterate(client, quote), iterate(client, quote)];
  const first = [a.next(), a.next(), b.next()];
  server.publish(quote, q(1));
  server.publish(quote, q(2));
  expect((await Promise.all(first)).map((r) => r.value.ts)).toEqual([1, 2, 1]);
  expect((await b.next()).value.ts).toBe(2);
});

test("closing ends it with an error, after what came before", async () => {
  const loop = iterate(client, quote);
  const waiting = iterate(client, quote);
  const pending = [waiting.next(), waiting.next()].map((p) => p.catch((e) => e.code));
  server.publish(quote, q(1));
  client.close();
  expect((await loop.next()).value.ts).toBe(1);
  await expect(loop.next()).rejects.toMatchObject({ code: "cancelled" });
  expect((await loop.next()).done).toBe(true);
  expect(await Promise.all(pending)).toMatchObject([{ value: { ts: 1 } }, "cancelled"]);
  expect(() => iterate(client, quote)).toThrow("the client is closed");
});

test("the server closing for good is unavailable", async () => {
  const next = iterate(client, quote).next();
  server.disconnect(4403, "banned");
  await expect(next).rejects.toMatchObject({ code: "unavailable", message: "the client is closed: banned" });
});

test("a topic that is refused, taken away or left ends it, after what came before", async () => {
  const strict = new TestServer({ schema, refuseTopic: (topic) => (topic === "secret" ? "denied" : undefined) });
  client.close();
  client = strict.connect();
  const told: string[] = [];
  client.onError((e) => told.push(`${e.code} ${e.topic}`));
  await strict.connected();
  const refused = iterate(client, quote, { topic: "secret" });
  await expect(refused.next()).rejects.toMatchObject({ code: "denied", topic: "secret" });
  expect((await refused.next()).done).toBe(true);
  const kicked = iterate(client, quote, { topic: "t" });
  strict.flush();
  strict.publish(quote, q(1), { topic: "t" });
  strict.kick("client-1", "t", "denied", "out");
  expect((await kicked.next()).value.ts).toBe(1);
  await expect(kicked.next()).rejects.toMatchObject({ code: "denied", message: "topic t: out" });
  const left = iterate(client, quote, { topic: "t" });
  const next = left.next();
  client.unsubscribe("t");
  expect((await next).done).toBe(true);
  expect(told).toEqual(["denied secret", "denied t"]);
});

test("a signal ends it with its reason", async () => {
  const abort = new AbortController();
  const loop = iterate(client, quote, { signal: abort.signal, topic: "t" });
  const next = loop.next();
  abort.abort("enough");
  await expect(next).rejects.toBe("enough");
  server.flush();
  expect(server.clients[0]!.topics).toEqual([]);
  await expect(iterate(client, quote, { signal: abort.signal }).next()).rejects.toBe("enough");
});

test("a loop that does not keep up ends with an error after what waited", async () => {
  const must = { ...quote, delivery: "must" } as const;
  const loop = iterate(client, must, { max: 2 });
  for (let n = 1; n <= 4; n++) server.publish(quote, q(n));
  expect([(await loop.next()).value.ts, (await loop.next()).value.ts]).toEqual([1, 2]);
  await expect(loop.next()).rejects.toMatchObject({ code: "exhausted", message: "event quote: the loop fell 2 events behind" });
});

test("drop: what does not fit is told to onGap", async () => {
  const gaps: Gap[] = [];
  client.onGap((g) => gaps.push(g));
  const loop = iterate(client, { ...quote, delivery: "drop" }, { max: 1, topic: "t" });
  server.flush();
  for (let n = 1; n <= 3; n++) server.publish(quote, q(n), { topic: "t" });
  expect(gaps).toEqual([2, 3].map((n) => ({ topic: "t", from: n, to: n, reason: "consumer" })));
  expect((await loop.next()).value.ts).toBe(1);
  server.publish(quote, q(4), { topic: "t" });
  expect((await loop.next()).value.ts).toBe(4);
});

test("latest: the newest of each key is kept", async () => {
  const loop = iterate(client, { ...quote, delivery: "latest", key: "symbol" }, { max: 3 });
  for (const [n, symbol] of [..."ABABACA"].entries()) server.publish(quote, q(n, symbol));
  const got = [await loop.next(), await loop.next(), await loop.next()].map((r) => r.value.symbol + r.value.ts);
  expect(got).toEqual(["B3", "C5", "A6"]);
  for (const [n, symbol] of [..."ABCD"].entries()) server.publish(quote, q(n, symbol));
  for (let i = 0; i < 3; i++) await loop.next();
  await expect(loop.next()).rejects.toMatchObject({ code: "exhausted" });
});
