"use client";
import { useCallback, useSyncExternalStore } from "react";
import type { Status } from "../status.js";
import { useClient } from "./provider.js";

const RENDERED: Status = { state: "idle" };

/** Where the connection stands; renders again when that changes. On a server it is idle. */
export function useConnection(): Status {
  const client = useClient();
  const subscribe = useCallback((changed: () => void) => {
    const handle = client.onStatus(changed);
    return () => handle.off();
  }, [client]);
  return useSyncExternalStore(subscribe, () => client.status, () => RENDERED);
}
