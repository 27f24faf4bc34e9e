// Calls against the real Go server, over real sockets.
import { WebSocket } from "ws";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { connect } from "@ignex/nova-client";
import type { Client, NovaError } from "@ignex/nova-client";
import { call, onCall, request } from "@ignex/nova-client/calls";
import { chat, getQuote, schema } from "../../../cmd/nova/page/src/market/index.js";
import { Program, RealServer } from "./realserver.js";

let program: Program;
let server: RealServer;
let client: Client;
let sockets: WebSocket[];
let errors: NovaError[];

beforeAll(() => {
  program = Program.build();
}, 300_000);
afterAll(() => program?.remove());

beforeEach(async () => {
  [sockets, errors] = [[], []];
  server = await RealServer.start(program);
  class Watched extends WebSocket {
    constructor(url: string, protocols?: string[]) {
      super(url, protocols);
      sockets.push(this);
    }
  }
  client = connect(await server.url, { schema, webSocket: Watched, reconnect: { initialMs: 1, maxMs: 20 } });
  client.onError((e) => errors.push(e));
});
afterEach(async () => {
  client.close();
  await server.stop();
  expect(errors).toEqual([]);
});

const text = (p: Promise<unknown>) => p.then(() => "ok", (e: NovaError) => `${e.code}: ${e.message}`);

test("a call, its errors, its trace, and one that is cancelled", async () => {
  expect(await call(client, getQuote, { symbol: "AAPL" })).toMatchObject({ symbol: "AAPL", bid: 1.5 });
  expect((await call(client, getQuote, { symbol: "trace" }, { trace: "00-abc" })).symbol).toBe("00-abc");
  expect(await text(call(client, getQuote, { symbol: "missing" }))).toBe('not_found: no symbol "missing"');
  expect(await text(call(client, getQuote, { symbol: "broken" }))).toBe("internal: internal error");
  const abort = new AbortController();
  const waits = text(call(client, getQuote, { symbol: "wait" }, { signal: abort.signal }));
  await call(client, getQuote, { symbol: "beside" });
  abort.abort();
  expect(await waits).toMatch(/^cancelled/);
  while (!(await server.called()).includes("context canceled"));
});

test("the server calls back from within, and by itself", async () => {
  let signal: AbortSignal | undefined;
  onCall(client, getQuote, async ({ symbol }, context) => {
    if (symbol === "hurry") {
      signal = context.signal;
      await new Promise(() => {}); // the server has given up by then
    }
    return { symbol: `${symbol} ${context.trace}`, bid: 0, ask: 0, bidSize: 0, askSize: 0, ts: 0 };
  });
  expect((await call(client, getQuote, { symbol: "back" }, { trace: "tr" })).symbol).toBe("back tr");
  expect(await server.call("x")).toBe("x 00-trace");
  expect(await server.call("hurry")).toMatch(/^deadline_exceeded/);
  while (!signal!.aborted) await server.called();
});

test("what the handler publishes comes before the answer", async () => {
  const seen: number[] = [];
  client.on(chat, ({ ts }) => seen.push(ts));
  for (let round = 1; round <= 10; round++) {
    await call(client, getQuote, { symbol: "events" });
    expect(seen.length).toBe(20 * round);
  }
  expect(seen.every((ts, i) => ts === i % 20)).toBe(true);
});

test("over cuts a call is handled at most once, and never when it was said not to be", async () => {
  const outcomes = new Map<string, string>();
  for (let n = 0; n < 300; n++) {
    const name = `cut${n}`;
    const done = call(client, getQuote, { symbol: name }).then(() => "ok", (e: NovaError) => e.code);
    if (n % 10 === 5) sockets.at(-1)!.terminate();
    outcomes.set(name, await done);
  }
  await client.send(chat, { room: "", text: "last", ts: 0 });
  const called = await server.called();
  for (const [name, outcome] of outcomes) {
    const n = called.filter((c) => c === name).length;
    if (outcome === "ok") expect([name, n]).toEqual([name, 1]);
    else if (outcome === "unavailable") expect([name, n]).toEqual([name, 0]);
    else expect([outcome, n <= 1]).toEqual(["unknown_outcome", true]);
  }
  expect([...outcomes.values()].filter((o) => o === "ok").length).toBeGreaterThan(200);
});

test("the base protocol's call", async () => {
  expect((await request(client, chat, { room: "", text: "hi", ts: 0 })).text).toBe("hi!");
  expect(await text(request(client, chat, { room: "", text: "no", ts: 0 }))).toBe("unknown: not you");
});
