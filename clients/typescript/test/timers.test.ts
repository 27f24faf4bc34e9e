// What depends on time, over a socket made of nothing and a fake clock.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { connect, createClient } from "@ignex/nova-client";
import type { Client, NovaError, Options } from "@ignex/nova-client";
import * as control from "../src/control/index.js";
import { Backoff } from "../src/backoff.js";
import { sha256Head } from "../src/sha256.js";
import { createHash } from "node:crypto";
import { mixed } from "./fixtures/market.js";
import { emptyMixed } from "./fixtures/values.js";
import { decodeFrame, frameOf } from "./server.js";

class FakeSocket {
  static all: FakeSocket[] = [];
  binaryType = "";
  readyState = 0;
  bufferedAmount = 0;
  onopen: any;
  onmessage: any;
  onclose: any;
  onerror: any;
  sent: string[] = [];
  closedWith: number | undefined;

  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }

  send(data: Uint8Array): void {
    this.sent.push(decodeFrame(data).name);
  }

  close(code: number): void {
    this.closedWith = code;
    this.readyState = 2;
  }

  open(): void {
    this.readyState = 1;
    this.onopen?.();
    this.say(frameOf(control.hello, { version: 2, caps: [], lastSeq: 0 }));
    this.say(frameOf(control.welcome, { clientId: "c", groups: [] }));
  }

  say(frame: Uint8Array): void {
    this.onmessage?.({ data: frame.slice().buffer });
  }

  lose(): void {
    this.readyState = 3;
    this.onclose?.({ code: 1006, reason: "" });
  }
}

let client: Client;
let errors: NovaError[];
const last = () => FakeSocket.all.at(-1)!;
const pings = (s: FakeSocket) => s.sent.filter((n) => n === "ping").length;
const pong = () => last().say(frameOf(control.pong, { ts: Date.now() }));

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(1);
  FakeSocket.all = [];
  errors = [];
});
afterEach(() => {
  client?.close();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

async function start(options: Options = {}): Promise<void> {
  client = connect("ws://x/ws", { webSocket: FakeSocket, ...options });
  client.onError((e) => errors.push(e));
  await vi.advanceTimersByTimeAsync(0);
}

describe("heartbeat", () => {
  test("a ping every 15 s; two silent intervals are a loss", async () => {
    await start();
    last().open();
    expect(pings(last())).toBe(1);
    pong();
    for (let i = 0; i < 4; i++) {
      await vi.advanceTimersByTimeAsync(15_000);
      pong();
    }
    expect(pings(last())).toBe(5);
    await vi.advanceTimersByTimeAsync(15_000);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(client.status.state).toBe("connected");
    await vi.advanceTimersByTimeAsync(15_000);
    expect(client.status).toMatchObject({ state: "reconnecting", reason: "no answer" });
    expect(last().closedWith).toBe(4000);
  });

  test("any frame is life", async () => {
    await start();
    last().open();
    for (let i = 0; i < 20; i++) {
      await vi.advanceTimersByTimeAsync(15_000);
      last().say(frameOf(mixed, emptyMixed));
    }
    expect(client.status.state).toBe("connected");
  });

  test("a late timer asks first", async () => {
    await start();
    last().open();
    await vi.advanceTimersByTimeAsync(15_000); // heard nothing since: sets the scene
    const before = pings(last());
    vi.setSystemTime(Date.now() + 3_600_000); // the computer slept for an hour
    await vi.advanceTimersByTimeAsync(15_000);
    expect(client.status.state).toBe("connected");
    expect(pings(last())).toBe(before + 1);
    pong();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(client.status.state).toBe("connected");
    vi.setSystemTime(Date.now() + 3_600_000);
    await vi.advanceTimersByTimeAsync(15_000);
    await vi.advanceTimersByTimeAsync(15_000);
    await vi.advanceTimersByTimeAsync(5_000); // the probe is not answered
    expect(client.status.state).toBe("reconnecting");
  });

  test.each([0, Infinity, 2 ** 31])("an interval of %d is none: no ping but the first, no loss", async (intervalMs) => {
    await start({ heartbeat: { intervalMs } });
    last().open();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect([client.status.state, pings(last())]).toEqual(["connected", 1]);
  });

  test("rtt is that of the last pong", async () => {
    await start();
    last().open();
    const sentAt = Date.now();
    await vi.advanceTimersByTimeAsync(37);
    last().say(frameOf(control.pong, { ts: sentAt }));
    expect(client.rtt).toBe(37);
  });
});

describe("attempts", () => {
  test("delays double up to the maximum and start anew after a stable connection", async () => {
    await start();
    const delays: number[] = [];
    client.onStatus((s) => s.retryInMs !== undefined && delays.push(s.retryInMs));
    for (let i = 0; i < 9; i++) {
      last().lose();
      await vi.advanceTimersByTimeAsync(delays.at(-1)!);
    }
    expect(delays).toEqual([250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
    last().open();
    await vi.advanceTimersByTimeAsync(9_999);
    last().lose();
    expect(delays.at(-1)).toBe(30000);
    await vi.advanceTimersByTimeAsync(30_000);
    last().open();
    await vi.advanceTimersByTimeAsync(10_000);
    last().lose();
    expect(delays.at(-1)).toBe(250);
  });

  test("jitter is full, after the cap", () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const backoff = new Backoff();
    expect(Array.from({ length: 9 }, () => backoff.next())).toEqual([125, 250, 500, 1000, 2000, 4000, 8000, 15000, 15000]);
  });

  test("an attempt without a welcome is given up; opening late it is closed", async () => {
    await start();
    const first = last();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(client.status).toMatchObject({ state: "reconnecting", reason: "no welcome in time" });
    await vi.advanceTimersByTimeAsync(250);
    expect(FakeSocket.all).toHaveLength(2);
    first.closedWith = undefined;
    first.open();
    expect(first.closedWith).toBe(4000);
    expect(first.sent).toEqual([]);
    expect(client.status.state).toBe("reconnecting");
    last().open();
    expect(client.status.state).toBe("connected");
  });

  test("close during the token, the delay and the handshake starts nothing more", async () => {
    let give: (token: string) => void = () => {};
    await start({ token: () => new Promise((done) => (give = done)) });
    client.close();
    give("t");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(FakeSocket.all).toHaveLength(0);

    await start();
    last().lose();
    client.close();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(FakeSocket.all).toHaveLength(1);

    await start();
    client.close();
    expect(last().closedWith).toBe(1000);
    last().lose();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(FakeSocket.all).toHaveLength(2);
  });
});

describe("an attempt that its listener or its token ends", () => {
  test.each(["close", "pause"] as const)("%s when told that it begins: no socket is made", async (end) => {
    client = createClient("ws://x/ws", { webSocket: FakeSocket });
    client.onStatus(({ state }) => state === "connecting" && client[end]());
    client.connect();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([FakeSocket.all.length, client.status.state]).toEqual([0, end === "close" ? "closed" : "idle"]);
  });

  test("a token that never comes is given up like a welcome, and has no effect later", async () => {
    const give: ((token: string) => void)[] = [];
    await start({ token: () => new Promise((done) => give.push(done)) });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(client.status).toMatchObject({ state: "reconnecting", reason: "no welcome in time" });
    await vi.advanceTimersByTimeAsync(250);
    expect(give.length).toBe(2);
    give[0]!("late");
    await vi.advanceTimersByTimeAsync(0);
    expect(FakeSocket.all).toHaveLength(0);
    give[1]!("t");
    await vi.advanceTimersByTimeAsync(0);
    expect(FakeSocket.all).toHaveLength(1);
    last().open();
    expect(client.status.state).toBe("connected");
  });

  test("a token option that throws at once is tried again", async () => {
    await start({ token: () => { throw new Error("no"); } });
    expect(client.status).toMatchObject({ state: "reconnecting", reason: "no token", attempt: 1 });
    expect(errors.map((e) => e.code)).toEqual(["unauthenticated"]);
  });
});

describe("the send queue", () => {
  test("refuses above its frames, its bytes and its age", async () => {
    client = createClient("ws://x/ws", { webSocket: FakeSocket });
    client.onError((e) => errors.push(e));
    const sent = Array.from({ length: 1024 }, () => client.send(mixed, emptyMixed));
    const states = sent.map((p) => p.then(() => "sent", (e: NovaError) => e.code));
    await expect(client.send(mixed, emptyMixed)).rejects.toMatchObject({ code: "exhausted" });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(new Set(await Promise.all(states))).toEqual(new Set(["unavailable"]));
    const blob = new Uint8Array(600_000);
    const fits = client.send(mixed, { ...emptyMixed, blob }).catch((e: NovaError) => e.code);
    await expect(client.send(mixed, { ...emptyMixed, blob })).rejects.toMatchObject({ code: "exhausted" });
    client.connect();
    await vi.advanceTimersByTimeAsync(0);
    last().open();
    expect(await fits).toBeUndefined();
    last().bufferedAmount = 1 << 20;
    await expect(client.send(mixed, emptyMixed)).rejects.toMatchObject({ code: "exhausted" });
  });
});

describe("sessions", () => {
  const session: control.Session = {
    session: "n1.a", clientId: "c", recovered: false, nextSeq: 1, missed: 0, received: 0, ttlMs: 60_000, heartbeatMs: 4_000,
    maxMessage: 0, rate: 0, burst: 0,
  };
  const attach = (answer: Partial<control.Session> = {}) => {
    last().readyState = 1;
    last().onopen?.();
    last().say(frameOf(control.hello, { version: 2, caps: ["session/1"], lastSeq: 0 }));
    last().say(frameOf(control.welcome, { clientId: "c", groups: [] }));
    last().say(frameOf(control.novaSession, { ...session, ...answer }));
  };
  const acks = () => last().sent.filter((n) => n === "nova.ack").length;

  test("acknowledges 2 s after the first frame, and the server sets the heartbeat", async () => {
    await start();
    attach();
    await vi.advanceTimersByTimeAsync(1_000);
    last().say(frameOf(mixed, emptyMixed, { seq: 1 }));
    await vi.advanceTimersByTimeAsync(1_500);
    last().say(frameOf(mixed, emptyMixed, { seq: 2 }));
    expect([acks(), pings(last())]).toEqual([0, 1]);
    await vi.advanceTimersByTimeAsync(500);
    expect(acks()).toBe(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(pings(last())).toBe(2);
    await vi.advanceTimersByTimeAsync(3_500);
    expect(acks()).toBe(1);
  });

  test("what was sent does not age, what waits does", async () => {
    await start();
    attach();
    const sent = client.send(mixed, emptyMixed).then(() => "ok", (e: NovaError) => e.code);
    last().lose();
    const late = client.send(mixed, emptyMixed).then(() => "ok", (e: NovaError) => e.code);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await late).toBe("unavailable");
    attach({ recovered: true, received: 1 });
    expect(await sent).toBe("ok");
  });

  test("goaway is kept to the millisecond, though the page wakes up", async () => {
    let online: (e: object) => void = () => {};
    vi.stubGlobal("addEventListener", (name: string, fn: typeof online) => name === "online" && (online = fn));
    await start();
    attach();
    last().say(frameOf(control.novaGoaway, { reason: "draining", retryAfterMs: 5_000 }));
    last().readyState = 3;
    last().onclose?.({ code: 1012, reason: "service restart" });
    expect(client.status.retryInMs).toBe(5_000);
    online({ type: "online" });
    await vi.advanceTimersByTimeAsync(4_999);
    expect(FakeSocket.all).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(FakeSocket.all).toHaveLength(2);
    last().lose();
    expect(client.status.retryInMs).toBe(500);
  });
});

describe("waking up", () => {
  test("a page that returns probes once and hurries a waiting attempt once", async () => {
    const listeners = new Map<string, (e: { type: string }) => void>();
    const addEventListener = (name: string, fn: (e: { type: string }) => void, { signal }: { signal: AbortSignal }) => {
      listeners.set(name, fn);
      signal.addEventListener("abort", () => listeners.delete(name));
    };
    vi.stubGlobal("addEventListener", addEventListener);
    const page = { visibilityState: "visible" };
    vi.stubGlobal("document", page);
    const fire = (type: string) => listeners.get(type)!({ type });
    await start();
    last().open();
    pong();
    expect([...listeners.keys()].sort()).toEqual(["online", "pageshow", "visibilitychange"]);
    const before = pings(last());
    page.visibilityState = "hidden";
    fire("visibilitychange");
    expect(pings(last()), "a page that goes needs no probe").toBe(before);
    page.visibilityState = "visible";
    for (const type of listeners.keys()) fire(type);
    expect(pings(last())).toBe(before + 1);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(client.status).toMatchObject({ state: "reconnecting", reason: "no answer" });
    for (let i = 0; i < 5; i++) {
      await vi.advanceTimersByTimeAsync(30_000);
      last().lose();
    }
    const made = FakeSocket.all.length;
    fire("online");
    await vi.advanceTimersByTimeAsync(0);
    expect(FakeSocket.all.length).toBe(made + 1);
    last().lose();
    fire("online");
    await vi.advanceTimersByTimeAsync(0);
    expect(FakeSocket.all.length).toBe(made + 1);
    client.close();
    expect(listeners.size).toBe(0);
  });
});

test("sha256Head against node's crypto", () => {
  for (const n of [0, 1, 55, 56, 63, 64, 65, 119, 120, 300]) {
    const data = Uint8Array.from({ length: n }, (_, i) => (i * 7) & 0xff);
    expect(sha256Head(data)).toBe(createHash("sha256").update(data).digest().readBigUInt64LE(0));
  }
});
