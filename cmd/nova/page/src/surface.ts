/** A canvas that is crisp on any screen: drawing is in CSS pixels. */
export class Surface {
  readonly context: CanvasRenderingContext2D;
  width = 0;
  height = 0;
  private stale = true;

  /** resized is called when the canvas got another size and was cleared. */
  constructor(readonly canvas: HTMLCanvasElement, resized: () => void) {
    const context = canvas.getContext("2d");
    if (context === null) throw new Error("this browser has no canvas");
    this.context = context;
    new ResizeObserver(() => {
      this.stale = true;
      resized();
    }).observe(canvas);
  }

  /** Clears the canvas and returns its context, or undefined while it is not visible. */
  begin(): CanvasRenderingContext2D | undefined {
    if (this.stale) this.fit();
    if (this.width === 0 || this.height === 0) return undefined;
    this.context.clearRect(0, 0, this.width, this.height);
    return this.context;
  }

  private fit(): void {
    this.stale = false;
    const ratio = devicePixelRatio;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }
}
