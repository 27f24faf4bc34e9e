"use client";
import { useEffect } from "react";
import type { Handler } from "../handlers.js";
import type { SubscribeOptions } from "../topic.js";
import type { EventDescriptor } from "../wire/index.js";
import { useCurrent } from "./current.js";
import { useStore } from "./event.js";
import { NONE } from "./latest.js";
import { useShared } from "./provider.js";

/**
 * Joins a topic while the component is mounted and gives the newest value of an
 * event in it, undefined before the first. Renders again at most once a frame.
 * Without a topic nothing is joined. Components of one topic share a
 * subscription, which begins with the options of the first.
 */
export function useTopic<T>(topic: string | null | undefined, event: EventDescriptor<T>, options?: SubscribeOptions): T | undefined;
/** Joins a topic and calls handler for every event of that kind in it, the newest handler; renders nothing. */
export function useTopic<T>(topic: string | null | undefined, event: EventDescriptor<T>, handler: Handler<T>, options?: SubscribeOptions): void;
export function useTopic<T>(
  topic: string | null | undefined, event: EventDescriptor<T>, second?: Handler<T> | SubscribeOptions, third?: SubscribeOptions,
): T | undefined {
  const [handler, options] = typeof second === "function" ? [second, third] : [undefined, second];
  const shared = useShared();
  const current = useCurrent(handler);
  const value = handler === undefined;
  useEffect(() => {
    if (value || !topic) return;
    return shared.listen(topic, options, event, (v, meta) => current.call?.(v, meta));
  }, [shared, topic, event, value]);
  return useStore<T>(value && topic ? shared.topic(topic, options, event) : NONE);
}
