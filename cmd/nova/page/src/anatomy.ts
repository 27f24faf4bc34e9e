import { parseHeader, Reader, type EventDescriptor, type Header } from "@ignex/nova-client/wire";
import { byId, make, say } from "./dom.ts";
import { bytes, integer } from "./format.ts";

/** The parts of a frame and where they end; a trailer follows the payload only in topics. */
function partsOf(header: Header, length: number): [name: string, end: number][] {
  return [["version", 1], ["event", 5], ["flags", 6], ["seq", 14], ["size", 18], ["payload", header.end], ["trailer", length]];
}

/** Decodes per measurement: browsers round their clock too much for one. */
const RUNS = 400;
/** Longer frames are shown up to here. */
const SHOWN = 192;

/** The strip that shows one received frame: its bytes, its size, its price. */
export class Anatomy {
  private received = 0;
  private wanted = true;
  private frame: ArrayBuffer | undefined;

  /** event is what the strip catches, published to topic; total gives the number of events so far. */
  constructor(private readonly event: EventDescriptor<any>, private readonly topic: string, private readonly total: () => number) {
    byId("frame-next").addEventListener("click", () => (this.wanted = true));
  }

  /** Looks at each received frame; cheap unless one is wanted. */
  observe(frame: ArrayBuffer): void {
    this.received += frame.byteLength;
    if (!this.wanted || frame.byteLength < 18) return;
    if (new DataView(frame).getUint32(1, true) !== this.event.id) return;
    this.wanted = false;
    this.frame = frame.slice(0);
  }

  draw(): void {
    say(byId("frame-total"), bytes(this.received));
    say(byId("frame-events"), integer(this.total()));
    const frame = this.frame;
    if (frame === undefined) return;
    this.frame = undefined;
    const view = new DataView(frame);
    const header = parseHeader(view);
    const reader = new Reader();
    const read = () => reader.payload(view, header.start, header.end, this.event.table);
    const value = read();
    const text = JSON.stringify({ event: this.event.name, data: value }, (_, v: unknown) => (typeof v === "bigint" ? String(v) : v));
    say(byId("frame-bytes"), bytes(frame.byteLength));
    say(byId("frame-json"), bytes(new TextEncoder().encode(text).length));
    // Once to warm up, once to measure.
    for (let i = 0; i < RUNS; i++) read();
    const start = performance.now();
    for (let i = 0; i < RUNS; i++) read();
    const micros = ((performance.now() - start) * 1000) / RUNS;
    const cell = byId("frame-decode");
    cell.replaceChildren(`${micros < 10 ? micros.toFixed(1) : micros.toFixed(0)} µs `, make("small", `mean of ${RUNS}`));
    showBytes(new Uint8Array(frame, 0, Math.min(frame.byteLength, SHOWN)), partsOf(header, frame.byteLength));
    showGo(this.event.name, this.topic, value);
    showCode(this.event.name, value);
  }
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

/** The publish call that gives this frame. Names of fields follow Go's for this simple event. */
function showGo(name: string, topic: string, value: unknown): void {
  const pascal = (s: string) => s.charAt(0).toUpperCase() + s.slice(1);
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
