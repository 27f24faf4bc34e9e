// Tokens by frame: over a socket made of nothing and a fake clock, and against the real server.
import { WebSocket } from "ws";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createClient } from "@ignex/nova-client";
import type { Client, NovaError, Options } from "@ignex/nova-client";
import { renewToken, type RenewOptions } from "@ignex/nova-client/auth";
import * as control from "../src/control/index.js";
import { Program, RealServer } from "./realserver.js";
import { decodeFrame, frameOf, type Received } from "./server.js";

class FakeSocket {
  static all: FakeSocket[] = [];
  binaryType = "";
  readyState = 0;
  bufferedAmount = 0;
  onopen: any;
  onmessage: any;
  onclose: any;
  onerror: any;
  sent: Received[] = [];

  constructor(_url: string, readonly protocols?: string[]) {
    FakeSocket.all.push(this);
  }

  send(data: Uint8Array): void {
    this.sent.push(decodeFrame(data));
  }

  close(): void {
    this.readyState = 2;
  }

  /** Opens, with a server of these capabilities. */
  open(...caps: string[]): void {
    this.readyState = 1;
    this.onopen?.();
    this.say(control.hello, { version: 2, caps, lastSeq: 0 });
    this.say(control.welcome, { clientId: "c", groups: [] });
  }

  say<T>(event: Parameters<typeof frameOf<T>>[0], value: T): void {
    this.onmessage?.({ data: frameOf(event, value).slice().buffer });
  }

  authed(m: Partial<control.Authed>): void {
    this.say(control.novaAuthed, { id: 0, code: 0, message: "", expiresInMs: 0, ...m });
  }

  end(code: number): void {
    this.readyState = 3;
    this.onclose?.({ code, reason: "" });
  }

  /** What was sent of that event. */
  said(name: string): any[] {
    return this.sent.filter((r) => r.name === name).map((r) => r.value);
  }
}

let client: Client;
let errors: NovaError[];

describe("with a clock of the test", () => {
  const last = () => FakeSocket.all.at(-1)!;
  const tokens = () => last().said("nova.auth").map((m) => m.token);

  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(Math, "random").mockReturnValue(1); // renewals after 90 % of the time
    FakeSocket.all = [];
    errors = [];
  });
  afterEach(() => {
    client.close();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  async function start(token: Options["token"], options?: RenewOptions, ...caps: string[]): Promise<void> {
    client = createClient("ws://x/ws", { webSocket: FakeSocket, token, heartbeat: { intervalMs: 2 ** 31 - 1 } } as Options);
    client.onError((e) => errors.push(e));
    renewToken(client, options);
    client.connect();
    await vi.advanceTimersByTimeAsync(0);
    last().open("auth/1", ...caps);
  }

  test("a token is renewed on the connection there is", async () => {
    let n = 0;
    await start(() => `t${++n}`);
    expect(last().said("hello")[0].caps).toContain("auth/1");
    last().authed({ expiresInMs: 100_000 });
    await vi.advanceTimersByTimeAsync(89_999);
    expect(tokens()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(last().said("nova.auth")).toEqual([{ id: 1, token: "t2" }]);
    last().authed({ id: 1, expiresInMs: 50_000 });
    await vi.advanceTimersByTimeAsync(45_000);
    expect(tokens()).toEqual(["t2", "t3"]);
    last().authed({ id: 2 }); // for ever
    await vi.advanceTimersByTimeAsync(1e9);
    expect(tokens()).toHaveLength(2);
    expect(FakeSocket.all).toHaveLength(1);
    expect(errors).toEqual([]);
  });

  test("a renewal that fails is told, and tried again while there is time", async () => {
    let n = 0;
    await start(() => (++n === 2 ? Promise.reject(new Error("offline")) : `t${n}`));
    last().authed({ expiresInMs: 100_000 });
    await vi.advanceTimersByTimeAsync(90_000);
    expect(errors.map((e) => e.code)).toEqual(["unauthenticated"]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(tokens()).toEqual(["t3"]);
    last().authed({ id: 1, code: 14, message: "later" });
    expect(errors.map((e) => [e.code, e.message])[1]).toEqual(["unavailable", "renew the token: later"]);
    await vi.advanceTimersByTimeAsync(100_000); // nobody answers: a few tries
    expect(tokens().length).toBeLessThan(6);
  });

  test("a call of the option that resolves after a reconnect starts no second timer", async () => {
    let n = 0;
    let slow!: (token: string) => void;
    await start(() => (++n === 2 ? new Promise<string>((done) => (slow = done)) : `t${n}`));
    last().authed({ expiresInMs: 100_000 });
    await vi.advanceTimersByTimeAsync(98_000);
    expect(n).toBe(2); // one call at a time
    last().end(1006);
    await vi.advanceTimersByTimeAsync(250);
    last().open("auth/1");
    last().authed({ expiresInMs: 100_000 });
    slow("late");
    await vi.advanceTimersByTimeAsync(89_000);
    expect(tokens()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(tokens()).toEqual(["t4"]);
    last().authed({ id: 1, expiresInMs: 1_000_000 });
    await vi.advanceTimersByTimeAsync(800_000);
    expect([n, FakeSocket.all.length]).toEqual([4, 2]);
  });

  test("a life longer than a timer takes", async () => {
    let n = 0;
    await start(() => `t${++n}`);
    last().authed({ expiresInMs: 1e11 });
    await vi.advanceTimersByTimeAsync(2 ** 31 - 2);
    expect(n).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(n).toBe(2);
  });

  test("in band the token goes ahead of the attach, and is no subprotocol", async () => {
    let n = 0;
    await start(async () => `t${++n}`, { inBand: true }, "session/1");
    expect(last().protocols).toBeUndefined();
    expect(last().sent.map((r) => r.name)).toEqual(["hello", "nova.auth", "nova.attach"]);
    expect(tokens()).toEqual(["t1"]);
    last().end(4401);
    await vi.advanceTimersByTimeAsync(0);
    last().open("auth/1", "session/1");
    expect(tokens()).toEqual(["t2"]);
    last().end(4401);
    expect(client.status).toMatchObject({ state: "closed", reason: "unauthenticated", code: 4401 });
  });

  test("two clients of one options object", async () => {
    const options: Options = { webSocket: FakeSocket, token: () => "t" };
    const other = createClient("ws://x/ws", options);
    renewToken(other, { inBand: true });
    client = createClient("ws://x/ws", options);
    client.connect();
    await vi.advanceTimersByTimeAsync(0);
    expect(last().protocols).toEqual(["nova.v2", "nova.token.dA"]);
  });

  test("without a token there is nothing to renew", () => {
    client = createClient("ws://x/ws", { webSocket: FakeSocket });
    expect(() => renewToken(client)).toThrow(/needs the option token/);
  });
});

describe("against the real server", () => {
  let program: Program;
  let server: RealServer;
  beforeAll(async () => {
    program = Program.build();
    server = await RealServer.start(program, "-auth");
  });
  afterAll(async () => {
    await server?.stop();
    program?.remove();
  });
  beforeEach(() => (errors = []));
  afterEach(() => client.close());

  const say = (user: string, ttl = 0) => JSON.stringify({ user, ttl });
  async function start(token: () => string, options?: RenewOptions | false): Promise<string[]> {
    const states: string[] = [];
    client = createClient(await server.url, { webSocket: WebSocket, token, reconnect: { initialMs: 1, maxMs: 20 } });
    client.onError((e) => errors.push(e));
    client.onStatus(({ state }) => states.push(state));
    if (options !== false) renewToken(client, options);
    client.connect();
    return states;
  }
  const reach = (state: string) =>
    new Promise<void>((done) => {
      if (client.status.state === state) return done();
      client.onStatus((s) => s.state === state && done());
    });

  test.each([false, true])("an expired token: one more, no loop, then a fresh one works (in band: %s)", async (inBand) => {
    const given = [say("ann", -1), say("ann"), "never"];
    const states = await start(() => given.shift()!, { inBand });
    await reach("connected");
    expect(states).toEqual(["connecting", "reconnecting", "connected"]);
    expect(given).toEqual(["never"]);
  });

  test("two tokens that are no good end it", async () => {
    let n = 0;
    await start(() => (n++, "rubbish"), false);
    await reach("closed");
    expect([n, client.status.code, client.status.reason]).toEqual([2, 4401, "unauthenticated"]);
  });

  test("short tokens are renewed and the connection never breaks", async () => {
    let n = 0;
    const third = new Promise<void>((done) => {
      void start(() => (++n === 3 && done(), say("ann", 1_300))).then((states) => (seen = states));
    });
    let seen: string[] = [];
    await third;
    expect(seen).toEqual(["connecting", "connected"]);
    expect(errors).toEqual([]);
  });

  test("a renewal for another user is refused for good", async () => {
    let n = 0;
    await start(() => say(`u${++n}`, 1_100));
    await reach("closed");
    expect([n, client.status.code]).toEqual([2, 4403]);
    expect(errors.map((e) => e.code)).toEqual(["denied"]);
  });
});
