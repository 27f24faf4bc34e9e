// Calls, tokens and joined messages on the test server, judged by the real client.
import { afterEach, expect, test, vi } from "vitest";
import { NovaError, createClient } from "@ignex/nova-client";
import type { Client, Options } from "@ignex/nova-client";
import { renewToken } from "@ignex/nova-client/auth";
import { batching } from "@ignex/nova-client/batch";
import { call, enableCalls, onCall } from "@ignex/nova-client/calls";
import { TestServer } from "@ignex/nova-client/testing";
import type { TestServerOptions } from "@ignex/nova-client/testing";
import { getQuote, quote, schema, trade } from "./fixtures/market.js";
import { aQuote, aTrade } from "./fixtures/values.js";

let server: TestServer;
let client: Client;
let errors: string[];
let states: string[];

function start(options: TestServerOptions = {}, own: Options = {}, ready: (client: Client) => void = enableCalls): void {
  [errors, states] = [[], []];
  server = new TestServer({ schema, ...options });
  client = server.client(own);
  client.onError((e) => errors.push(e.code));
  client.onStatus((s) => states.push(s.code ? `${s.state} ${s.code}` : s.state));
  ready(client);
  client.connect();
}
afterEach(() => {
  client.close();
  vi.useRealTimers();
});

const outcome = (p: Promise<{ symbol: string }>) => p.then((q) => q.symbol, (e: NovaError) => `${e.code}: ${e.message}`);
const get = (symbol: string, options = {}) => outcome(call(client, getQuote, { symbol }, options));

test("the server answers calls", async () => {
  start();
  const signals: AbortSignal[] = [];
  server.onCall(getQuote, async ({ symbol }, { clientId, signal, trace }) => {
    if (symbol === "missing") throw new NovaError("not_found", "gone");
    if (symbol === "broken") throw new Error("a secret");
    if (symbol === "misfit") return { ...aQuote, ts: 0.5 };
    if (symbol === "wait") {
      signals.push(signal);
      await new Promise((done) => signal.addEventListener("abort", done));
    }
    return { ...aQuote, symbol: `${symbol} ${clientId} ${trace}` };
  });
  expect(await get("A", { trace: "tr" })).toBe("A client-1 tr");
  expect(await get("missing")).toBe("not_found: gone");
  expect(await get("broken")).toBe("internal: internal error");
  expect(await get("misfit")).toBe("internal: internal error");
  const abort = new AbortController();
  const given = get("wait", { signal: abort.signal });
  await vi.waitFor(() => expect(signals).toHaveLength(1));
  abort.abort();
  expect(await given).toMatch(/^cancelled/);
  expect(await get("wait", { deadlineMs: 5 })).toMatch(/^deadline_exceeded/);
  const lost = get("wait");
  await vi.waitFor(() => expect(signals).toHaveLength(3));
  server.disconnect();
  expect(await lost).toMatch(/^unknown_outcome/);
  expect(signals.map((s) => s.aborted)).toEqual([true, true, true]);
  expect(await get("B")).toBe("B client-1 ");
  expect(errors).toEqual([]);
});

test("a call that nobody answers, and calls are numbered with what else is sent", async () => {
  start();
  expect(await get("A")).toBe("unimplemented: no handler for getQuote");
  server.onCall(getQuote, () => ({ ...aQuote, symbol: String(server.received(trade).length) }));
  void client.send(trade, aTrade);
  const first = get("A");
  void client.send(trade, aTrade);
  expect(await first).toBe("1");
});

test("the server calls", async () => {
  start();
  await server.connected();
  const ask = (symbol: string, options = {}) => outcome(server.call("client-1", getQuote, { symbol }, options));
  expect(await ask("A")).toMatch(/^unimplemented/);
  let given = 0;
  onCall(client, getQuote, async ({ symbol }, { signal }) => {
    if (symbol === "missing") throw new NovaError("not_found", "gone");
    if (symbol === "wait") await new Promise<void>((done) => signal.addEventListener("abort", () => done(void given++)));
    return { ...aQuote, symbol: `${symbol}!` };
  });
  expect(await ask("A")).toBe("A!");
  expect(await ask("missing")).toBe("not_found: gone");
  expect(await ask("wait", { deadlineMs: 5 })).toMatch(/^deadline_exceeded|^wait!/);
  await vi.waitFor(() => expect(given).toBe(1));
  const lost = ask("wait");
  server.flush();
  server.drop();
  expect(await lost).toMatch(/^unknown_outcome/);
  expect(await ask("A")).toMatch(/^unavailable/);
  expect(await outcome(server.call("nobody", getQuote, { symbol: "A" }))).toMatch(/^unavailable/);
});

const tokens = (...list: string[]) => () => list.length > 1 ? list.shift()! : list[0]!;

test("a token that is refused is replaced once", async () => {
  const seen: (string | undefined)[] = [];
  const authenticate = (token: string | undefined) => (seen.push(token), token === "good" ? undefined : "unauthenticated" as const);
  for (const inBand of [false, true]) {
    start({ authenticate }, { token: tokens("bäd", "good") }, (c) => renewToken(c, { inBand }));
    await server.connected();
    expect(states).toEqual(["connecting", "reconnecting 4401", "connected"]);
    expect(seen.splice(0)).toEqual(["bäd", "good"]);
    client.close();
    start({ authenticate }, { token: tokens("bad") }, (c) => renewToken(c, { inBand }));
    await vi.waitFor(() => expect(client.status).toMatchObject({ state: "closed", code: 4401 }));
    expect(seen.splice(0)).toEqual(["bad", "bad"]);
  }
  start({ authenticate: () => "denied" }, { token: tokens("good") }, () => {});
  await vi.waitFor(() => expect(client.status).toMatchObject({ state: "closed", code: 4403 }));
  client.close();
  start({ authenticate }, {}, () => {});
  await vi.waitFor(() => expect(client.status).toMatchObject({ state: "closed", code: 4401 }));
  expect(seen).toEqual([undefined]);
});

test("a token is renewed on the connection there is; of one that is refused the client is told", async () => {
  vi.useFakeTimers();
  const seen: (string | undefined)[] = [];
  const authenticate = (token: string | undefined) => (seen.push(token), token === "b" ? "unauthenticated" as const : token === "d" ? "denied" as const : 20_000);
  start({ authenticate }, { token: tokens("a", "b", "c", "d") }, (c) => renewToken(c));
  await vi.advanceTimersByTimeAsync(19_999);
  expect([seen, states, errors]).toEqual([["a", "b", "c"], ["connecting", "connected"], ["unauthenticated"]]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(seen).toEqual(["a", "b", "c", "d"]);
  expect(states).toEqual(["connecting", "connected", "closed 4403"]);
});

test("several frames in a message, both ways", async () => {
  start();
  client.close();
  let largest = 0;
  class Watched extends server.webSocket {
    override send(data: Uint8Array): void {
      largest = Math.max(largest, data.length);
      super.send(data);
    }
  }
  client = createClient("ws://x/ws", { schema, webSocket: batching(Watched), reconnect: { initialMs: 1, maxMs: 1 } });
  client.connect();
  await server.connected();
  const got: number[] = [];
  client.on(quote, ({ ts }) => got.push(ts));
  for (let ts = 0; ts < 300; ts++) void client.send(trade, { ...aTrade, ts });
  for (let ts = 0; ts < 300; ts++) expect((await server.next(trade)).ts).toBe(ts);
  expect(largest).toBeGreaterThan(10_000);
  server.drop();
  for (let ts = 0; ts < 300; ts++) server.publish(quote, { ...aQuote, ts });
  void server.restore();
  await server.connected();
  await vi.waitFor(() => expect(got).toHaveLength(300));
  expect(got).toEqual(Array.from({ length: 300 }, (_, i) => i));
});
