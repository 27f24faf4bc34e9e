// Rendering on a server: no window, no WebSocket, no socket.
import { renderToString } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { NovaProvider, useClient, useConnection, useEvent, useTopic } from "@ignex/nova-client/react";
import { quote, schema } from "./fixtures/market.js";

test("renderToString opens no socket and warns of nothing", async () => {
  const errors = vi.spyOn(console, "error");
  let dials = 0;
  const webSocket = class {
    constructor() {
      dials++;
    }
  } as never;
  let client: ReturnType<typeof useClient> | undefined;
  function Page() {
    client = useClient();
    useEvent(quote, () => {});
    useTopic("a", quote, () => {});
    return <p>{useConnection().state} {useEvent(quote)?.ts ?? "none"} {useTopic("t", quote)?.ts ?? "none"}</p>;
  }
  expect(typeof window).toBe("undefined");
  for (const options of [{ schema, webSocket }, { schema }]) {
    const html = renderToString(<NovaProvider url="/ws" options={options}><Page /></NovaProvider>);
    expect(html.replaceAll("<!-- -->", "")).toBe("<p>idle none none</p>");
  }
  expect(dials).toBe(0);
  expect(errors).not.toHaveBeenCalled();
  // Who connects all the same gets no socket either.
  client!.connect();
  await vi.waitFor(() => expect(client!.status.state).toBe("closed"));
  expect(dials).toBe(0);
});
