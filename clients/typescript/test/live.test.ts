// What the Go client does, too, against the real Go server over real sockets
// (conformance/README.md).
import { readFileSync } from "node:fs";
import { WebSocket } from "ws";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { NovaError, createClient } from "@ignex/nova-client";
import type { Client, State } from "@ignex/nova-client";
import { renewToken } from "@ignex/nova-client/auth";
import { batching } from "@ignex/nova-client/batch";
import { call, enableCalls, onCall } from "@ignex/nova-client/calls";
import { chat, getQuote, schema } from "../../../cmd/nova/page/src/market/index.js";
import { Program, RealServer } from "./realserver.js";

interface Scenario {
  name: string;
  server?: string[];
  tokens?: string[];
  inBand?: boolean;
  renew?: boolean;
  batching?: boolean;
  steps: Step[];
}
interface Step {
  call?: string;
  begin?: string;
  cancel?: true;
  ended?: string;
  server?: string;
  is?: string;
  has?: string;
  starts?: string;
  deadlineMs?: number;
  cut?: true;
  reach?: State;
  answers?: true;
  aborted?: true;
  states?: State[];
  errors?: string[];
  recovered?: boolean[];
  tokens?: number;
  subscribe?: string;
  seen?: [number, number];
  receives?: [number, number];
  fewerMessages?: number;
  send?: [string, number];
  handled?: [string, number][];
}

const PATIENCE = 20_000;
const scenarios: Scenario[] = JSON.parse(readFileSync(new URL("../../../conformance/live.json", import.meta.url), "utf8"));
const count = ([from, to]: [number, number]) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const texts = ([name, n]: [string, number]) => Array.from({ length: n }, (_, i) => `${name}${i}`);

/** One client and its server. */
class Live {
  readonly sockets: WebSocket[] = [];
  readonly client: Client;
  readonly states: State[] = [];
  readonly errors: string[] = [];
  readonly recovered: boolean[] = [];
  chats: number[] = [];
  tokens = 0;
  messages = 0;
  begun: Promise<string> | undefined;
  giveUp = new AbortController();
  aborted = false;

  constructor(readonly server: RealServer, url: string, { tokens, inBand, renew, batching: batches }: Scenario) {
    const live = this;
    class Watched extends WebSocket {
      constructor(url: string, protocols?: string[]) {
        super(url, protocols);
        live.sockets.push(this);
        live.messages = 0;
        this.on("message", () => live.messages++);
      }
    }
    this.client = createClient(url, {
      schema,
      webSocket: batches ? batching(Watched) : Watched,
      reconnect: { initialMs: 1, maxMs: 20 },
      ...(tokens && { token: () => tokens[Math.min(this.tokens++, tokens.length - 1)]! }),
    });
    const { client } = this;
    if (renew || inBand) renewToken(client, { inBand: inBand ?? false });
    enableCalls(client);
    client.onStatus(({ state }) => this.states.push(state));
    client.onError((e) => this.errors.push(e.code));
    client.onRecovered((ok) => this.recovered.push(ok));
    client.on(chat, ({ ts }) => this.chats.push(ts));
    client.connect();
  }

  until(so: () => void): Promise<void> {
    return vi.waitFor(so, { timeout: PATIENCE, interval: 5 });
  }

  /** The symbol of the answer, or the error's code. */
  call(symbol: string, options: { deadlineMs?: number; signal?: AbortSignal }): Promise<string> {
    return call(this.client, getQuote, { symbol }, options).then((q) => q.symbol, (e: NovaError) => e.code);
  }

  answer(): void {
    onCall(this.client, getQuote, async ({ symbol }, { signal }) => {
      if (symbol === "hurry") {
        await new Promise<void>((done) => signal.addEventListener("abort", () => done()));
        this.aborted = true;
        throw new NovaError("deadline_exceeded", "given up"); // the caller may have said so already
      }
      return { symbol: `${symbol}!`, bid: 0, ask: 0, bidSize: 0, askSize: 0, ts: 0 };
    });
  }

  /** Breaks the connection without a word. */
  async cut(): Promise<void> {
    const before = this.states.length;
    this.sockets.at(-1)!.terminate();
    await this.until(() => expect(this.states.slice(before)).toContain("reconnecting"));
  }

  async step(step: Step): Promise<void> {
    if (step.call) expect(await this.call(step.call, step.deadlineMs ? { deadlineMs: step.deadlineMs } : {})).toBe(step.is);
    else if (step.begin) this.begun = this.call(step.begin, { signal: (this.giveUp = new AbortController()).signal });
    else if (step.cancel) this.giveUp.abort();
    else if (step.ended) expect(await this.begun).toBe(step.ended);
    else if (step.server) await this.ask(step.server, step);
    else if (step.cut) await this.cut();
    else if (step.reach) await this.until(() => expect(this.client.status.state).toBe(step.reach));
    else if (step.states) expect(this.states.splice(0)).toEqual(step.states);
    else if (step.errors) expect(this.errors.splice(0)).toEqual(step.errors);
    else if (step.recovered) await this.until(() => expect(this.recovered).toEqual(step.recovered));
    else if (step.tokens) await this.until(() => expect(this.tokens).toBeGreaterThanOrEqual(step.tokens!));
    else if (step.answers) this.answer();
    else if (step.aborted) await this.until(() => expect(this.aborted).toBe(true));
    else await this.events(step);
  }

  async ask(command: string, { is, has, starts }: Step): Promise<void> {
    if (has) return this.until(async () => expect(await this.server.obey(command)).toContain(has));
    const got = await this.server.obey(command);
    if (is !== undefined) expect(got).toBe(is);
    if (starts) expect(got.startsWith(starts), got).toBe(true);
  }

  async events(step: Step): Promise<void> {
    if (step.subscribe) this.client.subscribe(step.subscribe);
    else if (step.seen) this.run(step.seen);
    else if (step.receives) {
      await this.until(() => expect(this.chats.at(-1)).toBeGreaterThanOrEqual(step.receives![1]));
      this.run(step.receives);
    } else if (step.fewerMessages) expect(this.messages).toBeLessThan(step.fewerMessages);
    else if (step.send) for (const text of texts(step.send)) void this.client.send(chat, { room: "", text, ts: 0 });
    else if (step.handled) {
      const want = step.handled.flatMap(texts);
      await this.ask("handled", { has: want.at(-1)! });
      expect(await this.server.handled()).toEqual(want);
    } else throw new Error("unknown step");
  }

  run(of: [number, number]): void {
    const got = this.chats;
    this.chats = [];
    expect(got).toEqual(count(of));
  }
}

let program: Program;
let server: RealServer;
let live: Live;

beforeAll(() => {
  program = Program.build();
}, 300_000);
afterAll(() => program?.remove());
afterEach(async () => {
  live.client.close();
  await server.stop();
});

for (const scenario of scenarios) {
  test(scenario.name, async () => {
    server = await RealServer.start(program, ...(scenario.server ?? []));
    live = new Live(server, await server.url, scenario);
    for (const [i, step] of scenario.steps.entries()) {
      try {
        await live.step(step);
      } catch (cause) {
        throw new Error(`step ${i + 1}, ${JSON.stringify(step)}: ${(cause as Error).message}`, { cause });
      }
    }
    expect(live.errors).toEqual([]);
  }, 2 * PATIENCE);
}
