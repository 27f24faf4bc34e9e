// The scenarios that the Go client passes, too (conformance/README.md). The
// socket and the clock are the test's own.
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createClient } from "@ignex/nova-client";
import type { Client, Gap, Options, Subscription } from "@ignex/nova-client";
import { renewToken } from "@ignex/nova-client/auth";
import { batching } from "@ignex/nova-client/batch";
import type { EventDescriptor } from "@ignex/nova-client/wire";
import * as control from "../src/control/index.js";
import { refOf } from "../src/topic.js";
import { quote, schema } from "./fixtures/market.js";
import { aQuote } from "./fixtures/values.js";
import { decodeFrame, frameOf, split } from "./server.js";
import { StageCalls, askOf, replyOf, symbolOf } from "./stagecalls.js";

const root = fileURLToPath(new URL("../../../conformance/", import.meta.url));
const read = (name: string) => JSON.parse(readFileSync(root + name, "utf8"));

type Step = Record<string, any>;
interface Scenario {
  name: string;
  tokens?: string[];
  inBand?: boolean;
  renew?: boolean;
  batching?: boolean;
  steps: Step[];
}
interface Row {
  code: number;
  reason: string;
  then: "stop" | "retry" | "slow" | "token";
}

const defaults: Record<string, object> = read("scenarios/defaults.json");
const events = new Map<string, EventDescriptor<any>>([...control.schema.events, quote].map((e) => [e.name, e]));
/** Frames that a scenario need not mention: always, and while it waits for another one. */
const ASIDE = ["ping", "nova.ack"];
const OPENING = ["hello", "nova.attach"];

/** A socket whose server is the scenario. */
class Scripted {
  binaryType = "";
  readyState = 0;
  bufferedAmount = 0;
  onopen: any;
  onmessage: any;
  onclose: any;
  onerror: any;
  readonly sent: Uint8Array[] = [];
  /** Of messages, since somebody looked. */
  sizes: number[] = [];
  closed: number | undefined;

  constructor(_url: string, readonly protocols?: string[]) {}

  send(data: Uint8Array): void {
    this.sizes.push(data.length);
    this.sent.push(...split(data.slice()));
  }

  close(code: number): void {
    this.closed = code;
    this.end(code, "");
  }

  /** The server, or the network, ends the connection. */
  end(code: number, reason: string): void {
    this.readyState = 3;
    this.onclose?.({ code, reason });
  }
}

/** Plays the server's part of a scenario and watches the client. */
class Stage {
  readonly sockets: Scripted[] = [];
  readonly client: Client;
  readonly subs = new Map<string, Subscription>();
  log: string[] = [];
  accepted = 0;
  tokens = 0;
  readonly calls: StageCalls;
  /** Frames that go in one message. */
  together: Uint8Array[] | undefined;

  constructor({ tokens, inBand, renew, batching: batches }: Partial<Scenario> = {}) {
    const { sockets } = this;
    class Watched extends Scripted {
      constructor(url: string, protocols?: string[]) {
        super(url, protocols);
        sockets.push(this);
      }
    }
    const options: Options = { schema, webSocket: batches ? batching(Watched) : Watched };
    if (tokens) options.token = () => tokens[Math.min(++this.tokens, tokens.length) - 1]!;
    this.client = createClient("ws://test/ws", options);
    const { client } = this;
    if (renew || inBand) renewToken(client, { inBand: inBand ?? false });
    this.calls = new StageCalls(client, (what) => this.log.push(what));
    client.onStatus((s) => this.log.push(s.state));
    client.onRecovered((ok) => this.log.push(`recovered ${ok}`));
    client.onGap((g) => this.log.push(gapText(g)));
    client.onError((e) => this.log.push(`error ${e.code}`));
    client.onAny((value, meta) => {
      const what = meta.event === "" ? "unknown" : `${meta.event} ${(value as typeof aQuote).ts}`;
      this.log.push(what + (meta.seq ? ` #${meta.seq}` : "") + (meta.topic === undefined ? "" : ` ${meta.topic}@${meta.offset}`));
    });
  }

  get socket(): Scripted {
    return this.sockets[this.accepted - 1]!;
  }

  async play(steps: Step[]): Promise<void> {
    for (const [i, step] of steps.entries()) {
      try {
        await this.step(step);
      } catch (cause) {
        throw new Error(`step ${i + 1}, ${JSON.stringify(step)}: ${(cause as Error).message}`, { cause });
      }
    }
  }

  async step(step: Step): Promise<void> {
    if (step.accept) await this.accept(step.token);
    else if (step.base) await this.base();
    else if (step.session) await this.session(step.session);
    else if (step.together) await this.join(step.together);
    else if (step.reply) this.deliver(frameOf(...replyOf(step)));
    else if (step.asks) this.deliver(frameOf(...askOf(step)));
    else if (step.tokens !== undefined) expect(this.tokens).toBe(step.tokens);
    else if (step.messages) this.messages(step.messages);
    else if (step.send) this.send(step.send, step.value, step);
    else if (step.quote !== undefined) this.send("quote", { ts: step.quote }, step);
    else if (step.quotes) for (let n = step.quotes[0]; n <= step.quotes[1]; n++) this.send("quote", { ts: n }, { seq: n });
    else if (step.bytes !== undefined) this.deliver(Uint8Array.from(Buffer.from(step.bytes, "hex")));
    else if (step.text) this.socket.onmessage?.({ data: step.text });
    else if (step.expect) await this.expect(step.expect, step.value ?? {}, step);
    else if (step.quiet) expect(this.next("")?.name).toBeUndefined();
    else if (step.close) this.socket.end(step.close, step.reason ?? "");
    else if (step.closed) expect(this.socket.closed).toBe(step.closed);
    else if (step.wait !== undefined) await vi.advanceTimersByTimeAsync(step.wait);
    else if (step.redial) await this.redial(step.redial[0], step.redial[1]);
    else if (step.stays) await this.stays();
    else if (step.sees) await this.sees(step.sees, step.anyOrder);
    else if (step.at) this.at(step.at);
    else if (step.counted) expect(this.client.stats).toMatchObject(step.counted);
    else if (step.do) this.do(step.do);
    else throw new Error("unknown step");
    await vi.advanceTimersByTimeAsync(0);
  }

  async accept(token?: string): Promise<void> {
    if (this.client.status.state === "idle") this.client.connect();
    await vi.advanceTimersByTimeAsync(0);
    expect(this.sockets.length, "attempts to connect").toBe(++this.accepted);
    if (token !== undefined) expect(this.socket.protocols).toEqual(token ? ["nova.v2", `nova.token.${Buffer.from(token).toString("base64url")}`] : undefined);
    this.socket.readyState = 1;
    this.socket.onopen?.();
  }

  async base(): Promise<void> {
    await this.accept();
    this.send("hello");
    this.send("welcome");
    this.clear();
  }

  /** Lets the client in, with these capabilities besides. */
  async session(more: true | string[]): Promise<void> {
    await this.accept();
    this.send("hello", { caps: ["session/1", "topics/1", ...(more === true ? [] : more)] });
    this.send("welcome");
    this.send("nova.session");
    this.clear();
  }

  clear(): void {
    this.log = [];
    this.socket.sent.length = 0;
  }

  /** Sends an event that has defaults, numbered and with a trailer on demand. */
  send(name: string, value: object = {}, { seq, topic }: Step = {}): void {
    const options = {
      ...(seq !== undefined && { seq }), ...(topic && { trailer: { ref: refOf(topic[1], topic[0]), offset: topic[2] } }),
    };
    this.deliver(frameOf(events.get(name)!, { ...defaults[name], ...value }, options));
  }

  deliver(frame: Uint8Array): void {
    if (this.together) this.together.push(frame);
    else this.socket.onmessage?.({ data: frame.slice().buffer });
  }

  async join(steps: Step[]): Promise<void> {
    const frames = (this.together = []);
    for (const step of steps) await this.step(step);
    this.together = undefined;
    this.deliver(Uint8Array.from(Buffer.concat(frames)));
  }

  /** The client's messages since the last look. */
  messages({ exactly, fewerThan, largest }: { exactly?: number; fewerThan?: number; largest?: number }): void {
    const { sizes } = this.socket;
    this.socket.sizes = [];
    if (exactly !== undefined) expect(sizes.length).toBe(exactly);
    if (fewerThan !== undefined) expect(sizes.length).toBeLessThan(fewerThan);
    if (largest !== undefined) expect(Math.max(...sizes)).toBeLessThanOrEqual(largest);
  }

  next(wanted: string): ReturnType<typeof decodeFrame> | undefined {
    for (let frame; (frame = this.socket.sent.shift()); ) {
      const decoded = decodeFrame(frame);
      if (decoded.name === wanted || !ASIDE.includes(decoded.name) && !(wanted && OPENING.includes(decoded.name))) return decoded;
    }
    return undefined;
  }

  async expect(name: string, { caps, symbol, ...value }: any, { seq, within = 0 }: Step): Promise<void> {
    let got = this.next(name);
    for (let waited = 0; !got && waited < within; waited += 50, got = this.next(name)) await vi.advanceTimersByTimeAsync(50);
    expect(got?.name).toBe(name);
    if (symbol) expect(symbolOf(name, got!.value.payload)).toBe(symbol);
    expect(got!.value).toMatchObject(value);
    if (caps) expect(got!.value.caps).toEqual(expect.arrayContaining(caps));
    if (seq !== undefined) expect(got!.seq).toBe(seq);
  }

  /** The next attempt comes within that many milliseconds, not before and not after. */
  async redial(from: number, to: number): Promise<void> {
    if (from > 0) {
      await vi.advanceTimersByTimeAsync(from - 1);
      expect(this.sockets.length, "attempts to connect").toBe(this.accepted);
    }
    // An attempt that nobody answers is given up and followed by another one.
    for (let at = Math.max(from - 1, 0); at < to && this.sockets.length === this.accepted; at += 50) {
      await vi.advanceTimersByTimeAsync(Math.min(50, to - at));
    }
    expect(this.sockets.length, "attempts to connect").toBe(this.accepted + 1);
  }

  async stays(): Promise<void> {
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(this.sockets.length, "attempts to connect").toBe(this.accepted);
  }

  async sees(want: string[], anyOrder = false): Promise<void> {
    await vi.advanceTimersByTimeAsync(0);
    const got = this.log;
    this.log = [];
    expect(anyOrder ? got.sort() : got).toEqual(anyOrder ? [...want].sort() : want);
  }

  at([topic, epoch, offset, recovered]: [string, string, number, boolean]): void {
    const sub = this.subs.get(topic)!;
    expect({ position: sub.position, recovered: sub.recovered }).toEqual({ position: { epoch, offset }, recovered });
  }

  do([call, arg, more]: [string, any, any]): void {
    const { client } = this;
    const calls: Record<string, () => void> = {
      subscribe: () => void this.subs.set(arg, client.subscribe(arg, more && { from: more })),
      unsubscribe: () => this.subs.get(arg)!.close(),
      joinGroup: () => client.joinGroup(arg),
      send: () => void client.send(quote, { ...aQuote, ts: arg }).catch(() => {}), // onError tells
      pause: () => client.pause(),
      resume: () => client.resume(),
      close: () => client.close(),
      call: () => this.calls.call(arg, more),
      cancel: () => this.calls.cancel(arg),
      answer: () => this.calls.answer(),
      sendAll: () => {
        for (let ts = arg; ts <= more; ts++) void client.send(quote, { ...aQuote, ts }).catch(() => {});
      },
    };
    calls[call]!();
  }
}

function gapText({ topic, from, to, reason }: Gap): string {
  return `gap ${topic === undefined ? "" : `${topic} `}${from}-${to ?? "?"}${reason === "lost" ? "" : ` ${reason}`}`;
}

let stage: Stage;
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
afterEach(() => {
  stage.client.close();
  vi.useRealTimers();
});

for (const file of readdirSync(`${root}scenarios`).filter((f) => f !== "defaults.json")) {
  describe(file.replace(".json", ""), () => {
    for (const scenario of read(`scenarios/${file}`) as Scenario[]) {
      test(scenario.name, async () => {
        stage = new Stage(scenario);
        await stage.play(scenario.steps);
      });
    }
  });
}

describe("close codes", () => {
  for (const { code, reason, then } of read("closecodes.json") as Row[]) {
    test(`${code} ${reason}: ${then}`, async () => {
      stage = new Stage({ tokens: ["1", "2", "3"] });
      await stage.base();
      stage.socket.end(code, reason);
      if (then === "stop") {
        await stage.stays();
        await stage.sees(["closed"]);
      } else if (then === "slow") {
        await stage.redial(15_000, 30_000);
      } else {
        await stage.redial(0, 250);
      }
      if (then === "token") {
        expect(stage.tokens).toBe(2);
        await stage.accept();
        stage.socket.end(code, reason);
        await stage.stays();
        await stage.sees(["reconnecting", "closed"]);
      }
    });
  }
});
