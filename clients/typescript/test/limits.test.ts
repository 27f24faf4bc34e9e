// What the server allows: frames a second, bytes of a message, retained events of
// a subscription. The clock is fake.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Pace } from "../src/pace.js";
import { SendQueue } from "../src/queue.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** The server's side: a bucket of tokens. Returns the sends that it would not have taken. */
function refused(sends: number[], rate: number, burst: number): number[] {
  let tokens = burst;
  let at = sends[0]!;
  return sends.filter((t) => {
    tokens = Math.min(burst, tokens + ((t - at) / 1000) * rate) - 1;
    at = t;
    return tokens < 0;
  });
}

describe("pace", () => {
  test.each([[10, 20], [100, 10], [1000, 5], [7, 1], [0.5, 3]])("%d a second, %d at once: in order, in the limit, not much slower", async (rate, burst) => {
    const sent: [number, number][] = [];
    const pace = new Pace((frame) => sent.push([frame[0]!, Date.now()]) > 0, () => {});
    pace.limit(rate, burst);
    const began = Date.now();
    for (let i = 0; i < 100; i++) expect(pace.send(Uint8Array.of(i))).toBe(true);
    await vi.runAllTimersAsync();
    expect(sent.map(([n]) => n)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    const times = sent.map(([, t]) => t);
    expect(refused(times, rate, Math.max(1, burst))).toEqual([]);
    expect(times.at(-1)! - began).toBeLessThan((100 / rate) * 1000 * 1.06 + 100);
  });

  test("room comes back and is told; a new connection forgets what was held", async () => {
    const sent: number[] = [];
    let told = 0;
    const pace = new Pace((frame) => sent.push(frame[0]!) > 0, () => told++);
    pace.limit(10, 0);
    pace.send(Uint8Array.of(1));
    expect(pace.room()).toBe(false);
    await vi.runAllTimersAsync();
    expect([told, pace.room()]).toEqual([1, true]);
    pace.send(Uint8Array.of(2));
    pace.send(Uint8Array.of(3));
    pace.limit(0, 0);
    pace.send(Uint8Array.of(4));
    expect(sent).toEqual([1, 2, 4]);
  });

  test("a clock that is set back stops nobody for longer than a frame's time", async () => {
    const sent: number[] = [];
    const pace = new Pace((frame) => sent.push(frame[0]!) > 0, () => {});
    pace.limit(10, 0);
    pace.send(Uint8Array.of(1));
    vi.setSystemTime(Date.now() - 3_600_000);
    pace.send(Uint8Array.of(2));
    await vi.advanceTimersByTimeAsync(120);
    expect(sent).toEqual([1, 2]);
    pace.limit(0, 0);
    expect(pace.room()).toBe(true);
  });
});

test("a frame that waited and is larger than the server takes fails alone, with both sizes", async () => {
  const sent: number[] = [];
  const queue = new SendQueue({}, (frame) => sent.push(frame.length) > 0);
  const frame = (n: number) => new Uint8Array(n);
  let open = false;
  const closed = new SendQueue({}, (f) => open && sent.push(f.length) > 0);
  const outcomes = [20, 300, 30].map((n) => closed.push(frame(n), 0).then(() => "ok", (e: Error) => e.message));
  open = true;
  closed.start(true, 100);
  expect(sent).toEqual([20, 30]);
  expect(closed.ack(2)).toBe(true);
  expect(await Promise.all(outcomes)).toEqual(["ok", "300 bytes are more than the 100 the server takes", "ok"]);
  queue.start(true, 0);
  void queue.push(frame(1 << 16), 0);
  expect(sent.at(-1)).toBe(1 << 16);
});
