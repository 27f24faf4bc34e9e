// What the stage of the scenarios has for calls: the application's part, and the
// server's.
import { NovaError } from "@ignex/nova-client";
import type { Client } from "@ignex/nova-client";
import { call, enableCalls, onCall } from "@ignex/nova-client/calls";
import { Reader, Writer, type EventDescriptor, type Table } from "@ignex/nova-client/wire";
import * as control from "../src/control/index.js";
import { getQuote, quote } from "./fixtures/market.js";
import { aQuote } from "./fixtures/values.js";

const encode = <T>(table: Table<T>, value: T) => new Writer().payload(table, value).slice();
const decode = <T>(table: Table<T>, b: Uint8Array) => new Reader().payload(new DataView(b.buffer, b.byteOffset, b.length), 0, b.length, table);
const fromHex = (text: string) => Uint8Array.from(Buffer.from(text, "hex"));

/** The calls of one client, and what became of them. */
export class StageCalls {
  readonly #giveUp = new Map<string, AbortController>();

  constructor(private readonly client: Client, private readonly tell: (what: string) => void) {
    enableCalls(client);
  }

  call(symbol: string, deadlineMs?: number): void {
    const abort = new AbortController();
    this.#giveUp.set(symbol, abort);
    call(this.client, getQuote, { symbol }, { signal: abort.signal, ...(deadlineMs && { deadlineMs }) }).then(
      ({ ts }) => this.tell(`answer ${symbol} ${ts}`),
      (e: NovaError) => this.tell(`answer ${symbol} ${e.code}`),
    );
  }

  cancel(symbol: string): void {
    this.#giveUp.get(symbol)!.abort();
  }

  answer(): void {
    onCall(this.client, getQuote, async ({ symbol }, { signal }) => {
      if (symbol === "missing") throw new NovaError("not_found", "gone");
      if (symbol === "wait") {
        this.tell("asked wait");
        await new Promise<void>((done) => signal.addEventListener("abort", () => done()));
        this.tell("given up");
        throw new NovaError("cancelled", "wait");
      }
      return { ...aQuote, symbol };
    });
  }
}

/** The server's answer to a call. */
export function replyOf({ reply: id, code = 0, message = "", ts, bytes }: any): [EventDescriptor<any>, object] {
  const payload = code ? new Uint8Array() : bytes ? fromHex(bytes) : encode(quote.table, { ...aQuote, ts });
  return [control.novaReply, { id, code, message, payload }];
}

/** A call of the server. */
export function askOf({ asks: id, name = "getQuote", symbol, deadlineMs = 0, bytes }: any): [EventDescriptor<any>, object] {
  return [control.novaCall, { id, name, deadlineMs, trace: "", payload: bytes ? fromHex(bytes) : encode(getQuote.request, { symbol }) }];
}

/** The symbol of a request, or of an answer. */
export function symbolOf(name: string, payload: Uint8Array): string {
  return name === "nova.call" ? decode(getQuote.request, payload).symbol : decode(quote.table, payload).symbol;
}
