"use client";
import { useEffect, useSyncExternalStore } from "react";
import type { Handler } from "../handlers.js";
import type { EventDescriptor } from "../wire/index.js";
import { useCurrent } from "./current.js";
import { NONE } from "./latest.js";
import type { Store } from "./latest.js";
import { useShared } from "./provider.js";

/**
 * The newest value of an event, since the first component that asks for it was
 * mounted; undefined before. Renders again at most once a frame.
 */
export function useEvent<T>(event: EventDescriptor<T>): T | undefined;
/** Calls handler for every event of that kind while the component is mounted, the newest handler; renders nothing. */
export function useEvent<T>(event: EventDescriptor<T>, handler: Handler<T>): void;
export function useEvent<T>(event: EventDescriptor<T>, handler?: Handler<T>): T | undefined {
  const shared = useShared();
  const current = useCurrent(handler);
  const value = handler === undefined;
  useEffect(() => {
    if (value) return;
    const handle = shared.client.on(event, (v, meta) => current.call?.(v, meta));
    return () => handle.off();
  }, [shared, event, value]);
  return useStore<T>(value ? shared.event(event) : NONE);
}

/** The value of a store; undefined while a page is rendered on a server. */
export function useStore<T>(store: Store<T>): T | undefined {
  return useSyncExternalStore(store.subscribe, store.value, NONE.value);
}
