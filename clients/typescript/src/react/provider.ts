"use client";
import { createContext, createElement, useContext, useEffect, useMemo, useState } from "react";
import type { ReactElement, ReactNode } from "react";
import type { Client } from "../client.js";
import { createClient } from "../connect.js";
import { NovaError } from "../error.js";
import type { Options } from "../options.js";
import type { WebSocketClass } from "../socket.js";
import { Hold } from "./hold.js";
import { Shared } from "./shared.js";

const Context = createContext<Shared | undefined>(undefined);

/** Properties of NovaProvider: either `client`, or `url` with `options`. */
export interface NovaProviderProps {
  /** A client of the application's own, which connects and closes it. */
  client?: Client;
  /**
   * Address of the server. The provider makes a client, connects it when it is
   * mounted and closes it when it is unmounted. Another address makes another client.
   */
  url?: string;
  /** Options of that client; read when it is made. */
  options?: Options;
  children?: ReactNode;
}

/**
 * Gives one client to all components inside. While a page is rendered on a
 * server (no `window`) nothing connects.
 * @throws NovaError invalid without a client and a url, or for those that createClient refuses
 */
export function NovaProvider({ client, url, options, children }: NovaProviderProps): ReactElement {
  const own = useOwn(client ? undefined : url, options);
  const used = client ?? own?.client;
  if (!used) throw new NovaError("invalid", "NovaProvider needs a client or a url");
  const value = useMemo(() => new Shared(used), [used]);
  return createElement(Context.Provider, { value }, children);
}

/** What the components under the nearest provider share. */
export function useShared(): Shared {
  const shared = useContext(Context);
  if (!shared) throw new NovaError("failed_precondition", "no NovaProvider above this component");
  return shared;
}

/**
 * The client of the nearest NovaProvider, to send with.
 * @throws NovaError failed_precondition without a provider
 */
export function useClient(): Client {
  return useShared().client;
}

interface Own {
  readonly url: string;
  readonly client: Client;
  readonly hold: Hold;
}

function useOwn(url: string | undefined, options: Options | undefined): Own | undefined {
  const [own, setOwn] = useState(() => make(url, options));
  if (url !== own?.url) setOwn(make(url, options)); // renders again before anything is shown
  useEffect(() => {
    if (!own) return;
    // Shown again after it was hidden: a closed client stays closed.
    if (own.client.status.state === "closed") return setOwn(make(own.url, options));
    return own.hold.take();
  }, [own]);
  return own;
}

function make(url: string | undefined, options: Options | undefined): Own | undefined {
  if (url === undefined) return undefined;
  const client = typeof window === "undefined" ? createClient("ws://server.invalid", { ...options, webSocket: Never }) : createClient(url, options);
  return { url, client, hold: new Hold(() => client.connect(), () => client.close()) };
}

/** In place of a socket where pages are only rendered. */
const Never = class {
  constructor() {
    throw new Error("nothing connects while a page is rendered on a server");
  }
} as unknown as WebSocketClass;
