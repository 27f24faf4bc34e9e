import { fade } from "./palette.ts";
import { Surface } from "./surface.ts";

/** A small line of the last values, newest at the right. */
export class Sparkline {
  private readonly surface: Surface;
  private readonly values: number[] = [];
  private color = "";

  /** slots is how many values are shown. */
  constructor(canvas: HTMLCanvasElement, private readonly slots: number) {
    this.surface = new Surface(canvas, () => this.draw());
  }

  /** Adds a value; NaN leaves a gap. */
  push(value: number): void {
    this.values.push(value);
    if (this.values.length > this.slots) this.values.shift();
    this.draw();
  }

  paint(color: string): void {
    this.color = color;
    this.draw();
  }

  private draw(): void {
    const g = this.surface.begin();
    if (g === undefined || this.color === "") return;
    const { width, height } = this.surface;
    const known = this.values.filter((v) => !Number.isNaN(v));
    if (known.length < 2) return;
    const top = Math.max(...known) * 1.1 || 1;
    const step = width / (this.slots - 1);
    const x = (i: number) => width - (this.values.length - 1 - i) * step;
    const y = (v: number) => height - 2 - (v / top) * (height - 5);
    g.beginPath();
    let first = -1;
    let last = -1;
    this.values.forEach((v, i) => {
      if (Number.isNaN(v)) return;
      if (first < 0) g.moveTo(x(i), y(v));
      else g.lineTo(x(i), y(v));
      if (first < 0) first = i;
      last = i;
    });
    g.strokeStyle = this.color;
    g.lineWidth = 1.5;
    g.lineJoin = "round";
    g.stroke();
    g.lineTo(x(last), height);
    g.lineTo(x(first), height);
    const wash = g.createLinearGradient(0, 0, 0, height);
    wash.addColorStop(0, fade(this.color, 0.22));
    wash.addColorStop(1, fade(this.color, 0));
    g.fillStyle = wash;
    g.fill();
  }
}
