import { parseHeader, Reader, type EventDescriptor, type Header } from "@ignex/nova-client/wire";
import { byId, make, say } from "./dom.ts";
import { bytes, integer } from "./format.ts";
import type { Tap } from "./tap.ts";

/** The parts of a frame and where they end; a trailer follows the payload only in topics. */
function partsOf(header: Header, length: number): [name: string, end: number][] {
  return [["version", 1], ["event", 5], ["flags", 6], ["seq", 14], ["size", 18], ["payload", header.end], ["trailer", length]];
}

/** Decodes per measurement, for browsers round their clock too much for one, and measurements. */
const RUNS = 1000;
const MEASUREMENTS = 5;
/** Longer frames are shown up to here. */
const SHOWN = 192;

/** The strip that shows one received frame: its bytes, its size, its price. */
export class Anatomy {
  private frame: ArrayBuffer | undefined;

  /** event is what the strip catches, published to topic. */
  constructor(private readonly event: EventDescriptor<any>, private readonly topic: string, tap: Tap) {
    const want = () =>
      tap.next((frame) => {
        if (frame.byteLength < 18 || new DataView(frame).getUint32(1, true) !== event.id) return false;
        this.frame = frame;
        return true;
      });
    byId("frame-next").addEventListener("click", want);
    want();
  }

  /** Shows how much was received, and a frame that was caught since. */
  draw(received: number, events: number): void {
    say(byId("frame-total"), bytes(received));
    say(byId("frame-events"), integer(events));
    const message = this.frame;
    if (message === undefined) return;
    this.frame = undefined;
    const frame = message.slice(0, parseHeader(new DataView(message), 0, true).next); // others may follow it
    const view = new DataView(frame);
    const header = parseHeader(view);
    const reader = new Reader();
    const read = () => reader.payload(view, header.start, header.end, this.event.table);
    const value = read();
    const text = JSON.stringify({ event: this.event.name, data: value }, (_, v: unknown) => (typeof v === "bigint" ? String(v) : v));
    say(byId("frame-bytes"), bytes(frame.byteLength));
    say(byId("frame-json"), bytes(new TextEncoder().encode(text).length));
    const micros = measure(read);
    const cell = byId("frame-decode");
    cell.replaceChildren(`${micros < 10 ? micros.toFixed(1) : micros.toFixed(0)} µs `, make("small", `median of ${MEASUREMENTS} × ${RUNS}`));
    showBytes(new Uint8Array(frame, 0, Math.min(frame.byteLength, SHOWN)), partsOf(header, frame.byteLength));
    showGo(this.event.name, this.topic, value);
    showCode(this.event.name, value);
  }
}

/** Time of one call in µs: the median of some measurements, the code warm before. */
function measure(read: () => unknown): number {
  for (let i = 0; i < RUNS; i++) read();
  const times = Array.from({ length: MEASUREMENTS }, () => {
    const start = performance.now();
    for (let i = 0; i < RUNS; i++) read();
    return ((performance.now() - start) * 1000) / RUNS;
  });
  return times.sort((a, b) => a - b)[MEASUREMENTS >> 1] ?? NaN;
}

function showBytes(data: Uint8Array, parts: readonly [name: string, end: number][]): void {
  const cells: HTMLElement[] = [];
  let part = 0;
  data.forEach((byte, i) => {
    while (i >= parts[part]![1]) part++;
    const [name, end] = parts[part]!;
    const start = parts[part - 1]?.[1] ?? 0;
    const cell = make("span", byte.toString(16).padStart(2, "0"));
    cell.dataset["part"] = name;
    if (byte === 0) cell.dataset["zero"] = "";
    if (i === start) cell.classList.add("first");
    if (i === end - 1 || i === data.length - 1) cell.classList.add("last");
    cells.push(cell);
  });
  byId("frame-hex").replaceChildren(...cells);
}

/** Words that Go writes in capitals, of those a quote has. */
const initialisms = new Set(["id"]);

/** The publish call that gives this frame. */
function showGo(name: string, topic: string, value: unknown): void {
  const pascal = (s: string) => (initialisms.has(s) ? s.toUpperCase() : s.charAt(0).toUpperCase() + s.slice(1));
  const code = byId("frame-go");
  const type = pascal(name);
  code.replaceChildren("q := ", "market.", make("i", type), "{\n");
  for (const [key, v] of Object.entries(value as object)) code.append(`  ${pascal(key)}: `, make("em", JSON.stringify(v)), ",\n");
  code.append("}\nmarket.", make("i", `${type}Event`), ".Publish(ctx, hub,\n  nova.Topic(", make("em", JSON.stringify(topic)), "), &q)");
}

/** `nova.on(market.quote, q => …)` with the value that the handler got. */
function showCode(name: string, value: unknown): void {
  const code = byId("frame-code");
  const q = name.charAt(0);
  code.replaceChildren("nova.on(market.", make("i", name), `, ${q} => {\n`, make("s", `  // ${q} is`), "\n");
  for (const [key, v] of Object.entries(value as object)) {
    const literal = typeof v === "bigint" ? `${v}n` : JSON.stringify(v);
    code.append(make("s", "  // "), `  ${key}: `, make("em", literal), "\n");
  }
  code.append(`  render(${q});\n});`);
}
