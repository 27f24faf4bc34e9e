import { byId, say } from "./dom.ts";
import { clock, direction, percent, price } from "./format.ts";
import type { Book, Instrument, Point } from "./instrument.ts";
import { fade, type Palette } from "./palette.ts";
import { Surface } from "./surface.ts";
import { calm } from "./ticker.ts";

/** Room for prices at the right and times at the bottom, in px. */
const RIGHT = 68;
const BOTTOM = 24;
const TOP = 10;
const LEFT = 4;
/** A trade is drawn with this radius. */
const DOT = 2.2;
/** Seconds between two times on the axis. */
const STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 180, 300] as const;
/** The least time shown, in ms. */
const SHORTEST = 5000;
/** How much of its way the price range goes in one drawing. */
const EASE = 0.12;

/** What one drawing works with: the plot's box and its scales. */
interface Frame {
  g: CanvasRenderingContext2D;
  p: Palette;
  width: number;
  height: number;
  from: number;
  to: number;
  x(t: number): number;
  y(v: number): number;
}

/** The price of the selected symbol over the last seconds or minutes. */
export class PriceChart {
  private readonly canvas = byId<HTMLCanvasElement>("chart");
  private readonly surface = new Surface(this.canvas, () => (this.stale = true));
  private palette: Palette | undefined;
  private instrument: Instrument | undefined;
  private seconds = 120;
  private low = NaN;
  private high = NaN;
  private stale = true;
  /** Where the crosshair stands: px from the left, or nothing. */
  private cross: number | undefined;
  private spoken = 0;
  private next = 0;

  constructor(private readonly book: Book) {
    byId("chart-window").addEventListener("change", (e) => {
      this.seconds = Number((e.target as HTMLInputElement).value);
      this.low = NaN;
      this.stale = true;
    });
    this.canvas.addEventListener("pointermove", (e) => this.point(e.offsetX));
    this.canvas.addEventListener("pointerleave", () => this.point(undefined));
    this.canvas.addEventListener("blur", () => this.point(undefined));
    this.canvas.addEventListener("keydown", (e) => this.key(e));
  }

  show(instrument: Instrument): void {
    this.instrument = instrument;
    this.low = NaN;
    this.stale = true;
    this.spoken = 0;
    say(byId("chart-symbol"), instrument.symbol);
  }

  paint(palette: Palette): void {
    this.palette = palette;
    this.stale = true;
  }

  /** Draws the chart as often as its slow movement to the left can be seen. */
  draw(now: number): void {
    const { instrument, palette } = this;
    if (instrument === undefined || palette === undefined) return;
    if (now < this.next && !this.stale) return;
    this.next = now + (calm() ? 250 : this.seconds === 30 ? 0 : this.seconds / 4);
    const to = this.book.now();
    const from = this.start(instrument, to);
    if (!this.range(instrument, from)) return;
    const g = this.surface.begin();
    if (g === undefined) return;
    this.stale = false;
    const width = this.surface.width - RIGHT;
    const height = this.surface.height - BOTTOM;
    const { low, high } = this;
    const f: Frame = {
      g, p: palette, width, height, from, to,
      x: (t) => LEFT + ((t - from) / (to - from)) * (width - LEFT),
      y: (v) => TOP + (1 - (v - low) / (high - low)) * (height - TOP),
    };
    g.font = `500 11px ${palette.sans}`;
    g.textBaseline = "middle";
    this.grid(f, f.y(instrument.middle.v[instrument.middle.v.length - 1] ?? 0));
    this.line(f, instrument);
    this.trades(f, instrument);
    this.lastPrice(f, instrument);
    if (this.cross !== undefined) this.crosshair(f, instrument, this.cross);
    this.headline(instrument, now, from);
  }

  /** The left edge: a young series fills the chart until it is as long as the window. */
  private start(instrument: Instrument, to: number): number {
    const { middle } = instrument;
    const first = middle.t[middle.first] ?? to;
    return Math.max(to - this.seconds * 1000, Math.min(first, to - SHORTEST));
  }

  private point(x: number | undefined): void {
    this.cross = x;
    this.stale = true;
  }

  /** Moves the price range towards what is visible. */
  private range(instrument: Instrument, from: number): boolean {
    const { t, v } = instrument.middle;
    let min = Infinity;
    let max = -Infinity;
    const start = Math.max(instrument.middle.at(from) - 1, instrument.middle.first);
    for (let i = start; i < t.length; i++) {
      const value = v[i] ?? 0;
      if (value < min) min = value;
      if (value > max) max = value;
    }
    if (min > max) return false;
    const slack = Math.max((max - min) * 0.14, Math.abs(max) * 0.00008, 1e-9);
    const low = min - slack;
    const high = max + slack;
    if (Number.isNaN(this.low) || calm()) [this.low, this.high] = [low, high];
    // Eased, but never so late that the line leaves the plot.
    this.low = Math.min(this.low + (low - this.low) * EASE, min - slack * 0.3);
    this.high = Math.max(this.high + (high - this.high) * EASE, max + slack * 0.3);
    return true;
  }

  /** Lines of equal price; the label that the last price would cover is left out. */
  private grid(f: Frame, last: number): void {
    const { g, p } = f;
    g.lineWidth = 1;
    g.strokeStyle = fade(p.line, 0.8);
    g.fillStyle = p.soft;
    g.textAlign = "left";
    const step = niceStep((this.high - this.low) / Math.max(2, f.height / 62));
    for (let v = Math.ceil(this.low / step) * step; v < this.high; v += step) {
      const y = Math.round(f.y(v)) + 0.5;
      if (y < TOP || y > f.height - 4) continue;
      g.beginPath();
      g.moveTo(LEFT, y);
      g.lineTo(f.width, y);
      g.stroke();
      if (Math.abs(y - last) > 15) g.fillText(price(v), f.width + 9, y);
    }
    this.times(f);
  }

  private times(f: Frame): void {
    const { g } = f;
    const wide = f.width > 520;
    const least = (f.to - f.from) / (wide ? 7 : 3.5);
    const every = STEPS.find((s) => s * 1000 >= least)! * 1000;
    g.textAlign = "center";
    for (let t = Math.ceil(f.from / every) * every; t < f.to; t += every) {
      const x = f.x(t);
      if (x < 30 || x > f.width - 22) continue;
      const text = clock(t);
      g.fillText(every < 60_000 ? text : text.slice(0, 5), x, f.height + 14);
    }
  }

  private line(f: Frame, instrument: Instrument): void {
    const { g, p } = f;
    const { t, v } = instrument.middle;
    const start = Math.max(instrument.middle.at(f.from) - 1, instrument.middle.first);
    g.save();
    g.beginPath();
    g.rect(LEFT, 0, f.width - LEFT, f.height);
    g.clip();
    g.beginPath();
    const left = f.x(t[start] ?? f.from);
    g.moveTo(left, f.y(v[start] ?? 0));
    trace(f, t, v, start);
    const end = v[v.length - 1] ?? 0;
    g.lineTo(f.width, f.y(end));
    g.strokeStyle = p.accent;
    g.lineWidth = 1.6;
    g.lineJoin = "round";
    g.stroke();
    g.lineTo(f.width, f.height);
    g.lineTo(left, f.height);
    const wash = g.createLinearGradient(0, TOP, 0, f.height);
    wash.addColorStop(0, fade(p.accent, 0.17));
    wash.addColorStop(1, fade(p.accent, 0));
    g.fillStyle = wash;
    g.fill();
    g.restore();
  }

  private trades(f: Frame, instrument: Instrument): void {
    const { g, p } = f;
    for (const print of instrument.prints) {
      const y = f.y(print.price);
      const x = f.x(print.t);
      if (x < LEFT || x > f.width || y < 0 || y > f.height) continue;
      g.beginPath();
      g.arc(x, y, DOT, 0, 7);
      g.fillStyle = fade(print.buy ? p.up : p.down, 0.75);
      g.fill();
    }
  }

  private lastPrice(f: Frame, instrument: Instrument): void {
    const { g, p } = f;
    const value = instrument.middle.v[instrument.middle.v.length - 1] ?? 0;
    const y = Math.min(Math.max(f.y(value), TOP), f.height - 4);
    g.setLineDash([3, 4]);
    g.strokeStyle = fade(p.accent, 0.6);
    g.lineWidth = 1;
    g.beginPath();
    g.moveTo(LEFT, Math.round(y) + 0.5);
    g.lineTo(f.width, Math.round(y) + 0.5);
    g.stroke();
    g.setLineDash([]);
    this.tag(f, price(value), y, p.accent, p.card);
    g.beginPath();
    g.arc(f.width, y, 3.5, 0, 7);
    g.fillStyle = p.accent;
    g.fill();
    g.strokeStyle = p.card;
    g.lineWidth = 1.5;
    g.stroke();
  }

  /** A label on the price axis. */
  private tag(f: Frame, text: string, y: number, fill: string, ink: string): void {
    const { g } = f;
    g.font = `600 11px ${f.p.sans}`;
    g.fillStyle = fill;
    g.beginPath();
    g.roundRect(f.width + 5, y - 10, g.measureText(text).width + 9, 20, 5);
    g.fill();
    g.fillStyle = ink;
    g.textAlign = "left";
    g.fillText(text, f.width + 9.5, y + 0.5);
    g.font = `500 11px ${f.p.sans}`;
  }

  private crosshair(f: Frame, instrument: Instrument, at: number): void {
    const { g, p } = f;
    const point = this.pointAt(f.from, f.to, f.width, at, instrument);
    if (point === undefined) return;
    const x = Math.min(Math.max(f.x(point.t), LEFT), f.width);
    const y = f.y(point.v);
    g.strokeStyle = fade(p.soft, 0.7);
    g.lineWidth = 1;
    g.setLineDash([2, 3]);
    g.beginPath();
    g.moveTo(Math.round(x) + 0.5, TOP);
    g.lineTo(Math.round(x) + 0.5, f.height);
    g.moveTo(LEFT, Math.round(y) + 0.5);
    g.lineTo(f.width, Math.round(y) + 0.5);
    g.stroke();
    g.setLineDash([]);
    g.beginPath();
    g.arc(x, y, 4, 0, 7);
    g.fillStyle = p.card;
    g.fill();
    g.strokeStyle = p.accent;
    g.lineWidth = 2;
    g.stroke();
    this.tag(f, price(point.v), y, p.text, p.card);
    const text = clock(point.t);
    const half = g.measureText(text).width / 2 + 6;
    const center = Math.min(Math.max(x, half + LEFT), f.width - half);
    g.fillStyle = p.text;
    g.beginPath();
    g.roundRect(center - half, f.height + 4, 2 * half, 19, 5);
    g.fill();
    g.fillStyle = p.card;
    g.textAlign = "center";
    g.fillText(text, center, f.height + 14);
  }

  private pointAt(from: number, to: number, width: number, at: number, instrument: Instrument): Point | undefined {
    const t = from + ((at - LEFT) / (width - LEFT)) * (to - from);
    return instrument.middle.nearest(Math.min(t, to));
  }

  /** Left and right move the crosshair, Escape takes it away. */
  private key(e: KeyboardEvent): void {
    const width = this.surface.width - RIGHT;
    const step = { ArrowLeft: -width / 60, ArrowRight: width / 60 }[e.key];
    if (e.key === "Escape") this.point(undefined);
    if (step === undefined || this.instrument === undefined) return;
    e.preventDefault();
    const cross = Math.min(Math.max((this.cross ?? width) + step, LEFT), width);
    this.point(cross);
    const to = this.book.now();
    const point = this.pointAt(this.start(this.instrument, to), to, width, cross, this.instrument);
    if (point !== undefined) say(byId("chart-at"), `${clock(point.t)}: ${price(point.v)}`);
  }

  private headline(i: Instrument, now: number, from: number): void {
    say(byId("chart-last"), price(i.last));
    const change = byId("chart-change");
    const difference = i.last - i.open;
    say(change, percent(i.change));
    change.className = `change ${direction(difference)}`;
    say(byId("chart-bid"), price(i.bid));
    say(byId("chart-ask"), price(i.ask));
    say(byId("chart-spread"), price(i.ask - i.bid, i.ask));
    if (now < this.spoken) return;
    this.spoken = now + 5000;
    const values = i.middle.v.slice(i.middle.at(from));
    if (values.length === 0) return;
    const low = values.reduce((a, b) => Math.min(a, b));
    const high = values.reduce((a, b) => Math.max(a, b));
    this.canvas.setAttribute(
      "aria-label",
      `Price of ${i.symbol}, last ${this.seconds} seconds: now ${price(i.last)}, low ${price(low)}, high ${price(high)}. Arrow keys read single points.`,
    );
  }
}

/**
 * Adds the points from start to the path. Of many points in half a pixel only
 * the lowest, the highest and the last can be seen. The slices are of time, not
 * of the screen, so that the line does not shimmer while it moves.
 */
function trace(f: Frame, t: readonly number[], v: readonly number[], start: number): void {
  const slice = (f.to - f.from) / (2 * f.width);
  let i = start + 1;
  while (i < t.length) {
    const key = Math.floor((t[i] ?? 0) / slice);
    const x = f.x(t[i] ?? 0);
    let value = v[i] ?? 0;
    let low = value;
    let high = value;
    for (i++; i < t.length && Math.floor((t[i] ?? 0) / slice) === key; i++) {
      value = v[i] ?? 0;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (low !== value) f.g.lineTo(x, f.y(low));
    if (high !== value) f.g.lineTo(x, f.y(high));
    f.g.lineTo(x, f.y(value));
  }
}

/** The nearest 1, 2 or 5 times a power of ten that is not below rough. */
function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const n = rough / power;
  return (n <= 1 ? 1 : n <= 2 ? 2 : n <= 5 ? 5 : 10) * power;
}
