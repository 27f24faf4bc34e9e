// @vitest-environment happy-dom
// The hooks with the real React, under StrictMode unless a test says otherwise.
import { StrictMode, act, useState } from "react";
import type { ReactNode } from "react";
import { createRoot } from "react-dom/client";
import type { Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Client, Status } from "@ignex/nova-client";
import { NovaProvider, useClient, useConnection, useEvent, useTopic } from "@ignex/nova-client/react";
import { TestServer } from "@ignex/nova-client/testing";
import { quote, schema, trade } from "./fixtures/market.js";
import { aQuote, aTrade } from "./fixtures/values.js";

const q = (n: number) => ({ ...aQuote, ts: n });

let server: TestServer;
let place: HTMLElement;
let root: Root;
/** Sockets that were asked for. */
let dials: number;

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  server = new TestServer({ schema });
  dials = 0;
  place = document.createElement("div");
  root = createRoot(place);
});
afterEach(async () => {
  await act(async () => root.unmount());
  vi.useRealTimers();
});

/** Renders under a provider that makes the client; resolves when it is connected. */
async function show(ui: ReactNode, strict = true): Promise<void> {
  await act(async () => root.render(strict ? <StrictMode>{app(ui)}</StrictMode> : app(ui)));
  await act(() => server.connected());
}

function app(ui: ReactNode, url = "ws://localhost/ws"): ReactNode {
  return <NovaProvider url={url} options={{ schema, webSocket: counted(), reconnect: { initialMs: 1, maxMs: 1 } }}>{ui}</NovaProvider>;
}

function counted() {
  const Class = server.webSocket;
  return class extends Class {
    constructor(url: string, protocols?: string[]) {
      super(url, protocols);
      dials++;
    }
  };
}

test("StrictMode opens one socket, subscribes once, and unmounting closes", async () => {
  const Row = () => <p>{useTopic("equities", quote)?.ts ?? "none"}</p>;
  server.publish(quote, q(7), { topic: "equities" });
  await show(<><Row /><Row /></>);
  expect(dials).toBe(1);
  expect(place.textContent).toBe("77");
  expect(server.clients).toEqual([{ clientId: "client-1", connected: true, topics: ["equities"], groups: [] }]);
  await act(async () => root.render(<StrictMode>{app(<p>nobody</p>)}</StrictMode>));
  expect(server.clients[0]!.topics).toEqual([]);
  expect(dials).toBe(1);
  await act(async () => root.render(null));
  expect(server.clients).toEqual([]);
});

test("useEvent calls the newest handler once for each event, and renders nothing", async () => {
  let renders = 0;
  const seen: string[] = [];
  let set: (n: number) => void = () => {};
  function Reader() {
    const [n, setN] = useState(1);
    renders++;
    set = setN;
    useEvent(quote, (v, meta) => seen.push(`${n}:${v.ts}:${meta.event}`));
    return null;
  }
  await show(<Reader />);
  act(() => server.publish(quote, q(1)));
  const before = renders;
  act(() => set(2));
  const after = renders;
  expect(after).toBeGreaterThan(before);
  act(() => server.publish(quote, q(2)));
  expect(seen).toEqual(["1:1:quote", "2:2:quote"]);
  expect(renders).toBe(after);
});

test("useTopic calls a handler with the events of its topic, from the retained ones on", async () => {
  server.publish(quote, q(1), { topic: "a" });
  const seen: string[] = [];
  function Reader({ topic }: { topic: string | undefined }) {
    useTopic(topic, quote, (v, meta) => seen.push(`${meta.topic}${v.ts}`));
    return null;
  }
  await show(<Reader topic={undefined} />);
  expect(server.clients[0]!.topics).toEqual([]);
  await act(async () => root.render(<StrictMode>{app(<Reader topic="a" />)}</StrictMode>));
  act(() => server.publish(quote, q(2), { topic: "b" }));
  act(() => server.publish(quote, q(3), { topic: "a" }));
  await act(async () => root.render(<StrictMode>{app(<Reader topic="b" />)}</StrictMode>));
  expect(server.clients[0]!.topics).toEqual(["b"]);
  act(() => server.publish(quote, q(4), { topic: "a" }));
  act(() => server.publish(quote, q(5), { topic: "b" }));
  expect(seen).toEqual(["a1", "a3", "b2", "b5"]);
});

test("options of a topic: only what comes from now on", async () => {
  server.publish(quote, q(1), { topic: "a" });
  const Row = () => <p>{useTopic("a", quote, { from: "live" })?.ts ?? "none"}</p>;
  await show(<Row />);
  expect(place.textContent).toBe("none");
  act(() => server.publish(quote, q(2), { topic: "a" }));
  expect(place.textContent).toBe("2");
});

test("a thousand events render a few times, and the last one is shown", async () => {
  let renders = 0;
  function Row() {
    renders++;
    return <p>{useEvent(quote)?.ts ?? 0}</p>;
  }
  await show(<><Row /><Row /></>, false);
  vi.useFakeTimers();
  const before = renders;
  for (let n = 1; n <= 1000; n++) act(() => server.publish(quote, q(n)));
  expect(place.textContent).toBe("11");
  expect(renders - before).toBe(2);
  act(() => void vi.advanceTimersByTime(16));
  expect(place.textContent).toBe("10001000");
  expect(renders - before).toBe(4);
  act(() => void vi.advanceTimersByTime(1000));
  expect(renders - before).toBe(4);
});

test("other events do not render", async () => {
  let renders = 0;
  function Row() {
    renders++;
    return <p>{useEvent(quote)?.ts ?? 0}</p>;
  }
  await show(<Row />, false);
  const before = renders;
  act(() => server.publish(trade, aTrade));
  expect(renders).toBe(before);
});

test("useConnection follows the status, over a loss that loses nothing", async () => {
  const states: Status["state"][] = [];
  function View() {
    const { state, reason } = useConnection();
    if (states.at(-1) !== state) states.push(state);
    return <p>{state}{reason}{useTopic("t", quote)?.ts}</p>;
  }
  await show(<View />);
  act(() => server.publish(quote, q(1), { topic: "t" }));
  expect(place.textContent).toBe("connected1");
  vi.useFakeTimers();
  act(() => server.drop());
  expect(place.textContent).toBe("reconnectingconnection lost or refused1");
  server.publish(quote, q(2), { topic: "t" });
  await act(async () => {
    void server.restore();
    await vi.advanceTimersByTimeAsync(50);
  });
  expect(place.textContent).toBe("connected2");
  expect(states).toEqual(["idle", "connecting", "connected", "reconnecting", "connected"]);
});

test("useClient sends", async () => {
  let client: Client | undefined;
  const Grab = () => ((client = useClient()), null);
  await show(<Grab />);
  await act(() => client!.send(trade, aTrade));
  expect(server.received(trade)).toEqual([aTrade]);
});

test("a client of one's own is neither connected nor closed", async () => {
  const client = server.client();
  const Row = () => <p>{useConnection().state}</p>;
  await act(async () => root.render(<StrictMode><NovaProvider client={client}><Row /></NovaProvider></StrictMode>));
  expect(place.textContent).toBe("idle");
  await act(async () => {
    client.connect();
    await server.connected();
  });
  expect(place.textContent).toBe("connected");
  await act(async () => root.render(null));
  expect(client.status.state).toBe("connected");
  client.close();
});

test("another address makes another client", async () => {
  const Row = () => <p>{useTopic("t", quote)?.ts}</p>;
  await show(<Row />);
  act(() => server.publish(quote, q(1), { topic: "t" }));
  await act(async () => root.render(<StrictMode>{app(<Row />, "ws://localhost/other")}</StrictMode>));
  await act(() => server.connected());
  expect(dials).toBe(2);
  expect(server.clients.map((c) => c.clientId)).toEqual(["client-2"]);
  expect(place.textContent).toBe("1");
});

test("components that mount after the server has closed for good do not fail", async () => {
  const Row = () => <p>{useConnection().reason}{useTopic("t", quote)?.ts}</p>;
  await show(<p>first</p>);
  await act(async () => server.disconnect(4403, "banned"));
  await act(async () => root.render(<StrictMode>{app(<Row />)}</StrictMode>));
  expect(place.textContent).toBe("banned");
});

test("without a provider, or a provider without anything", async () => {
  const quiet = vi.spyOn(console, "error").mockImplementation(() => {});
  const Row = () => <p>{useConnection().state}</p>;
  await expect(act(async () => root.render(<Row />))).rejects.toThrow("no NovaProvider above this component");
  root = createRoot(place);
  await expect(act(async () => root.render(<NovaProvider />))).rejects.toThrow("NovaProvider needs a client or a url");
  root = createRoot(place);
  await expect(act(async () => root.render(<NovaProvider url="ftp://x" />))).rejects.toThrow('"ftp://x" is not a ws, wss');
  quiet.mockRestore();
});
