// A client and the server that the test plays, for one test after the other.
import { WebSocket } from "ws";
import { afterEach, beforeEach } from "vitest";
import { connect } from "@ignex/nova-client";
import type { Client, Meta, NovaError, Options, State } from "@ignex/nova-client";
import { schema } from "./fixtures/market.js";
import { aQuote } from "./fixtures/values.js";
import { TestServer } from "./server.js";

export let server: TestServer;
export let client: Client;
export let errors: NovaError[];

beforeEach(async () => {
  server = await TestServer.start();
  errors = [];
});
afterEach(async () => {
  (client as Client | undefined)?.close();
  await server.stop();
});

/** Delays for tests. */
export const quick = { initialMs: 1, maxMs: 20 };

/** Makes c the client of this test, which is closed at its end. */
export function own(c: Client): Client {
  return (client = c);
}

/** Puts another server in the place of the one that stopped. */
export async function renew(): Promise<void> {
  server = await TestServer.start();
}

/** Connects. */
export function start(options: Options = {}): Client {
  client = connect(server.url, { schema, webSocket: WebSocket, reconnect: quick, ...options });
  client.onError((e) => errors.push(e));
  return client;
}

export function reach(c: Client, state: State): Promise<void> {
  if (c.status.state === state) return Promise.resolve();
  return new Promise((done) => {
    const handle = c.onStatus((s) => {
      if (s.state !== state) return;
      handle.off();
      done();
    });
  });
}

/** Resolves with the nth value of an event. */
export function collect<T>(c: Client, event: Parameters<Client["on"]>[0], n: number): Promise<{ value: T; meta: Meta }[]> {
  const got: { value: T; meta: Meta }[] = [];
  return new Promise((done) => {
    c.on(event, (value: any, meta) => {
      got.push({ value, meta });
      if (got.length === n) done(got);
    });
  });
}

/** A quote of its own. */
export const q = (n: number) => ({ ...aQuote, ts: n });
