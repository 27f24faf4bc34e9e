import { byId } from "./dom.ts";
import { fade, type Palette } from "./palette.ts";
import { Surface } from "./surface.ts";

/** Time shown, and the time that one bar stands for, in ms. */
const SHOWN = 30_000;
const STEP = 150;
const BARS = SHOWN / STEP;
/** Bars kept: one more than shown moves in. */
const KEPT = BARS + 2;

/** How an event came: before this page was there, as it happened, or after a cut. */
export type Way = "history" | "live" | "late";
const ways: readonly Way[] = ["history", "live", "late"];

/** How many events happened in each STEP of the last SHOWN ms, by the way they came. */
export class Lane {
  private readonly steps = new Float64Array(KEPT);
  private readonly counts = ways.map(() => new Float64Array(KEPT));

  /** Counts an event that happened at ts. */
  add(ts: number, way: Way): void {
    const step = Math.floor(ts / STEP);
    const i = step % KEPT;
    if (this.steps[i]! > step) return; // older than all that is kept
    if (this.steps[i] !== step) {
      this.steps[i] = step;
      for (const c of this.counts) c[i] = 0;
    }
    this.counts[ways.indexOf(way)]![i]!++;
  }

  /** Events of a step that came one way, or all. */
  at(step: number, way?: Way): number {
    const i = step % KEPT;
    if (this.steps[i] !== step) return 0;
    return way === undefined ? this.counts.reduce((sum, c) => sum + c[i]!, 0) : this.counts[ways.indexOf(way)]![i]!;
  }
}

/** Draws two lanes over the same time: what a witness got, and what this page did. */
export class LaneChart {
  private readonly surface = new Surface(byId<HTMLCanvasElement>("lanes"), () => {});
  private palette: Palette | undefined;

  constructor(private readonly witness: Lane, private readonly own: Lane) {}

  paint(palette: Palette): void {
    this.palette = palette;
  }

  /** now is the server's time. */
  draw(now: number): void {
    const p = this.palette;
    const g = this.surface.begin();
    if (g === undefined || p === undefined) return;
    const { width, height } = this.surface;
    const newest = Math.floor(now / STEP);
    let top = 1;
    for (let s = newest - BARS; s <= newest; s++) top = Math.max(top, this.witness.at(s), this.own.at(s));
    const room = (height - 10) / 2;
    const middle = room + 1;
    const bar = (width / BARS) * 0.72;
    for (let s = newest - BARS; s <= newest; s++) {
      const x = width - ((now - s * STEP) / SHOWN) * width;
      const high = (n: number) => (n === 0 ? 0 : Math.max(2, (n / top) * room));
      const seen = this.witness.at(s);
      g.fillStyle = p.soft;
      g.fillRect(x, middle - high(seen), bar, high(seen));
      let y = height - 1;
      const stack = (n: number, color: string) => {
        const h = high(n);
        g.fillStyle = color;
        g.fillRect(x, (y -= h), bar, h);
      };
      stack(this.own.at(s, "history"), fade(p.soft, 0.65));
      stack(this.own.at(s, "live"), p.accent);
      stack(this.own.at(s, "late"), p.up);
      const missing = seen - this.own.at(s);
      // The newest may be under way to one of the two.
      if (missing <= 0 || s > newest - 3) continue;
      g.strokeStyle = p.down;
      g.lineWidth = 1;
      g.strokeRect(x + 0.5, y - high(missing) + 0.5, bar - 1, high(missing) - 1);
    }
    g.fillStyle = p.line;
    g.fillRect(0, middle, width, 1);
    g.fillRect(0, height - 1, width, 1);
  }
}
