import { byId, say } from "./dom.ts";
import { millis } from "./format.ts";
import { Sparkline } from "./sparkline.ts";

/** Time between two readings, in ms. */
export const READING = 500;
const READINGS = 40;
/** Latency samples kept per reading; more events overwrite the oldest. */
const SAMPLES = 4096;

/** Something that is counted, shown as its amount per second. */
export class Rate {
  /** All that was counted since the page opened. */
  total = 0;
  private since = 0;
  private last = performance.now();
  private before = NaN;
  /** The reading after a connection holds retained events: it would dwarf the others. */
  private burst = true;
  private readonly text: Element;
  readonly spark: Sparkline;

  /** The page shows it in #name and #name-spark; format writes the number. */
  constructor(name: string, private readonly format: (n: number) => string) {
    this.text = byId(name);
    this.spark = new Sparkline(byId<HTMLCanvasElement>(`${name}-spark`), READINGS);
  }

  count(n = 1): void {
    this.total += n;
    this.since += n;
  }

  connected(): void {
    this.burst = true;
  }

  /** Takes and shows a reading; call it every READING ms. */
  read(now: number): void {
    const seconds = (now - this.last) / 1000;
    const count = this.since;
    const burst = this.burst;
    this.last = now;
    this.since = 0;
    this.burst = burst && count === 0;
    if (seconds <= 0 || burst) return;
    const rate = count / seconds;
    // The mean of two readings: a feed that sends once a second stays calm.
    const shown = Number.isNaN(this.before) ? rate : (rate + this.before) / 2;
    this.before = rate;
    say(this.text, this.format(shown));
    this.spark.push(shown);
  }
}

/** How old events are when they arrive: median and 99th percentile. */
export class Latency {
  private readonly ages = new Float64Array(SAMPLES);
  private aged = 0;
  /** Events older than this were retained ones: their age says nothing about the way here. */
  private liveFrom = Infinity;
  private readonly p50 = byId("p50");
  private readonly p99 = byId("p99");
  readonly spark = new Sparkline(byId<HTMLCanvasElement>("latency-spark"), READINGS);

  /** Takes the time that an event carries, in ms. */
  sample(ts: number): void {
    if (ts < this.liveFrom) return;
    const age = wallClock() - ts;
    this.ages[this.aged++ % SAMPLES] = age < 0 ? 0 : age;
  }

  /** Says that events from now on are live. */
  connected(): void {
    this.liveFrom = wallClock();
  }

  disconnected(): void {
    this.liveFrom = Infinity;
  }

  /** Shows what was sampled since the last reading. */
  read(): void {
    const n = Math.min(this.aged, SAMPLES);
    this.aged = 0;
    const sorted = this.ages.subarray(0, n).sort();
    const at = (q: number) => sorted[Math.floor((n - 1) * q)] ?? NaN;
    say(this.p50, n === 0 ? "–" : millis(at(0.5)));
    say(this.p99, n === 0 ? "–" : millis(at(0.99)));
    this.spark.push(at(0.5));
  }
}

/** Milliseconds since 1970 with fractions; steps of the system clock do not show. */
function wallClock(): number {
  return performance.timeOrigin + performance.now();
}
