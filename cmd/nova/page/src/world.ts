import { byId } from "./dom.ts";
import { DOT_STEP, landDots } from "./land.ts";
import { fade, type Palette } from "./palette.ts";
import { Surface } from "./surface.ts";
import { calm } from "./ticker.ts";

/** One event on the map. */
export interface Place {
  longitude: number;
  latitude: number;
  /** What the radius shows; NaN when the event has nothing like a magnitude. */
  size: number;
  /** performance.now() when it arrived. */
  seen: number;
}

/** Places kept; older ones leave the map. */
const PLACES = 5000;
/** A new place rings for this long, in ms. */
const RING = 1600;
const LATITUDES = 90;

/**
 * A world map in equirectangular projection. Places are painted once on a layer
 * of their own; only the rings of new ones move.
 */
export class WorldMap {
  private readonly canvas = byId<HTMLCanvasElement>("world");
  private readonly surface = new Surface(this.canvas, () => (this.stale = true));
  private readonly layer = document.createElement("canvas");
  private readonly places: Place[] = [];
  private readonly fresh: Place[] = [];
  private readonly land = landDots();
  private palette: Palette | undefined;
  /** How many of the places are on the layer. */
  private painted = 0;
  private stale = true;
  private ringing = false;
  private chosen: Place | undefined;

  /** Forgets all places. */
  clear(): void {
    this.places.length = 0;
    this.fresh.length = 0;
    this.chosen = undefined;
    this.stale = true;
  }

  add(place: Place): void {
    this.places.push(place);
    this.fresh.push(place);
    if (this.places.length <= PLACES) return;
    this.places.splice(0, PLACES / 5);
    this.stale = true;
  }

  choose(place: Place | undefined): void {
    this.chosen = place;
    this.ringing = true;
  }

  paint(palette: Palette): void {
    this.palette = palette;
    this.stale = true;
  }

  draw(now: number): void {
    if (this.palette === undefined) return;
    if (!this.stale && this.fresh.length === 0 && !this.ringing) return;
    const g = this.surface.begin();
    if (g === undefined) return;
    this.refreshLayer(this.palette);
    g.drawImage(this.layer, 0, 0, this.surface.width, this.surface.height);
    this.ringing = this.rings(g, this.palette, now);
    this.labels(g, this.palette);
  }

  private x(longitude: number): number {
    return ((longitude + 180) / 360) * this.surface.width;
  }

  private y(latitude: number): number {
    return ((LATITUDES - latitude) / (2 * LATITUDES)) * (this.surface.height - 18);
  }

  private radius(size: number): number {
    const scale = Math.min(Math.max(this.surface.width / 900, 0.5), 1.3);
    return Number.isNaN(size) ? 3 * scale : (1.6 + Math.min(Math.max(size, 0), 10) ** 1.5 * 0.72) * scale;
  }

  /** Paints what is not on the layer yet; all of it after a change of size or theme. */
  private refreshLayer(p: Palette): void {
    const { layer } = this;
    const g = layer.getContext("2d");
    if (g === null) return;
    if (this.stale) {
      this.stale = false;
      this.painted = 0;
      layer.width = this.canvas.width;
      layer.height = this.canvas.height;
      this.background(g, p);
    } else {
      this.scale(g);
    }
    for (; this.painted < this.places.length; this.painted++) this.dot(g, p, this.places[this.painted]!);
  }

  private scale(g: CanvasRenderingContext2D): void {
    g.setTransform(this.canvas.width / this.surface.width, 0, 0, this.canvas.height / this.surface.height, 0, 0);
  }

  private background(g: CanvasRenderingContext2D, p: Palette): void {
    this.scale(g);
    const { width, height } = this.surface;
    g.lineWidth = 1;
    g.strokeStyle = fade(p.line, 0.75);
    const step = this.meridians();
    for (let longitude = -180 + step; longitude < 180; longitude += step) {
      const x = Math.round(this.x(longitude)) + 0.5;
      line(g, x, 0, x, height - 18);
    }
    for (let latitude = -60; latitude <= 60; latitude += 30) {
      const y = Math.round(this.y(latitude)) + 0.5;
      line(g, 0, y, width, y);
    }
    const r = (this.x(DOT_STEP) - this.x(0)) * 0.3;
    g.fillStyle = fade(p.soft, 0.34);
    for (let i = 0; i + 1 < this.land.length; i += 2) {
      g.beginPath();
      g.arc(this.x(this.land[i] ?? 0), this.y(this.land[i + 1] ?? 0), r, 0, 7);
      g.fill();
    }
  }

  private meridians(): number {
    return this.surface.width > 620 ? 30 : 60;
  }

  /** Names of meridians and parallels, over everything, with a halo. */
  private labels(g: CanvasRenderingContext2D, p: Palette): void {
    g.font = `500 10.5px ${p.sans}`;
    g.textBaseline = "middle";
    g.lineJoin = "round";
    g.lineWidth = 3.5;
    g.strokeStyle = p.card;
    g.fillStyle = p.soft;
    const write = (text: string, x: number, y: number) => {
      g.strokeText(text, x, y);
      g.fillText(text, x, y);
    };
    g.textAlign = "center";
    const step = this.meridians();
    for (let longitude = -180 + step; longitude < 180; longitude += step) {
      write(degrees(longitude, "E", "W"), this.x(longitude), this.surface.height - 7);
    }
    g.textAlign = "left";
    for (let latitude = -60; latitude <= 60; latitude += 30) {
      write(degrees(latitude, "N", "S"), 1, this.y(latitude));
    }
  }

  private dot(g: CanvasRenderingContext2D, p: Palette, place: Place): void {
    g.beginPath();
    g.arc(this.x(place.longitude), this.y(place.latitude), this.radius(place.size), 0, 7);
    g.fillStyle = fade(p.accent, 0.13);
    g.fill();
    g.strokeStyle = fade(p.accent, 0.5);
    g.lineWidth = 1;
    g.stroke();
  }

  /** Draws the rings of new places and the chosen one; true while any still moves. */
  private rings(g: CanvasRenderingContext2D, p: Palette, now: number): boolean {
    while (this.fresh.length > 0 && (calm() || now - (this.fresh[0]?.seen ?? 0) > RING)) this.fresh.shift();
    for (const place of this.fresh) {
      const age = Math.max(0, now - place.seen) / RING;
      g.beginPath();
      g.arc(this.x(place.longitude), this.y(place.latitude), this.radius(place.size) + age * 16, 0, 7);
      g.strokeStyle = fade(p.accent, 1 - age);
      g.lineWidth = 1.5;
      g.stroke();
    }
    if (this.chosen !== undefined) this.cross(g, p, this.chosen);
    return this.fresh.length > 0;
  }

  private cross(g: CanvasRenderingContext2D, p: Palette, place: Place): void {
    const x = this.x(place.longitude);
    const y = this.y(place.latitude);
    const r = this.radius(place.size) + 3;
    g.strokeStyle = p.text;
    g.lineWidth = 1.75;
    g.beginPath();
    g.arc(x, y, r, 0, 7);
    g.stroke();
    g.lineWidth = 1;
    line(g, x - r - 7, y, x - r, y);
    line(g, x + r, y, x + r + 7, y);
    line(g, x, y - r - 7, x, y - r);
    line(g, x, y + r, x, y + r + 7);
  }
}

function line(g: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  g.beginPath();
  g.moveTo(x1, y1);
  g.lineTo(x2, y2);
  g.stroke();
}

function degrees(n: number, positive: string, negative: string): string {
  return n === 0 ? "0°" : `${Math.abs(n)}° ${n > 0 ? positive : negative}`;
}
