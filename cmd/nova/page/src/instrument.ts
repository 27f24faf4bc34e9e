/** A price at a time (ms since 1970). */
export interface Point {
  t: number;
  v: number;
}

/** Points closer together than this are one, in ms. */
const GRAIN = 40;
/** How far back points are kept, in ms. */
export const KEPT = 600_000;

/** Prices over the last ten minutes, in the order of time. */
export class Series {
  readonly t: number[] = [];
  readonly v: number[] = [];
  /** Index of the first point that is still kept. */
  first = 0;

  add(t: number, v: number): void {
    const n = this.t.length;
    const last = this.t[n - 1];
    if (last !== undefined && t < last) return; // an old one, sent again
    if (last !== undefined && Math.floor(last / GRAIN) === Math.floor(t / GRAIN)) {
      this.v[n - 1] = v;
      return;
    }
    this.t.push(t);
    this.v.push(v);
    while ((this.t[this.first] ?? t) < t - KEPT) this.first++;
    if (this.first > 8192) {
      this.t.splice(0, this.first);
      this.v.splice(0, this.first);
      this.first = 0;
    }
  }

  /** Index of the first kept point at or after t. */
  at(t: number): number {
    let low = this.first;
    let high = this.t.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.t[middle] ?? 0) < t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The point that stands nearest to t, or undefined when there is none. */
  nearest(t: number): Point | undefined {
    const after = this.at(t);
    const before = after - 1;
    const a = this.t[after];
    const b = before >= this.first ? this.t[before] : undefined;
    if (a === undefined && b === undefined) return undefined;
    const i = a === undefined || (b !== undefined && t - b < a - t) ? before : after;
    return { t: this.t[i] ?? 0, v: this.v[i] ?? 0 };
  }
}

/** One trade of an instrument. */
export interface Print {
  t: number;
  price: number;
  buy: boolean;
}

const PRINTS = 240;

/** All that is known about one symbol. */
export class Instrument {
  bid = NaN;
  ask = NaN;
  bidSize = 0;
  askSize = 0;
  /** Price of the last trade; the middle of bid and ask before the first one. */
  last = NaN;
  /** The first price seen. */
  open = NaN;
  /** Grows with every change. */
  version = 0;
  readonly middle = new Series();
  readonly prints: Print[] = [];
  private traded = false;

  constructor(readonly symbol: string) {}

  /** Change since the first price seen, as a fraction. */
  get change(): number {
    return this.last / this.open - 1;
  }

  quote(q: { bid: number; ask: number; bidSize: number; askSize: number; ts: number }): void {
    this.bid = q.bid;
    this.ask = q.ask;
    this.bidSize = q.bidSize;
    this.askSize = q.askSize;
    const middle = (q.bid + q.ask) / 2;
    this.middle.add(q.ts, middle);
    if (!this.traded) this.price(middle);
    this.version++;
  }

  trade(price: number, buy: boolean, ts: number): void {
    this.traded = true;
    this.price(price);
    this.prints.push({ t: ts, price, buy });
    if (this.prints.length > PRINTS) this.prints.shift();
    this.version++;
  }

  private price(p: number): void {
    this.last = p;
    if (Number.isNaN(this.open)) this.open = p;
  }
}

/** The instruments by symbol. */
export class Book {
  readonly instruments = new Map<string, Instrument>();
  /** Server time minus ours when they clearly differ, in ms. */
  private skew = 0;
  private ts = 0;
  private seen = 0;

  get(symbol: string): Instrument {
    let found = this.instruments.get(symbol);
    if (found === undefined) {
      found = new Instrument(symbol);
      this.instruments.set(symbol, found);
    }
    return found;
  }

  /** Notes the time of an event. */
  tick(ts: number): void {
    this.ts = ts;
    this.seen = Date.now();
  }

  /**
   * Compares clocks by the newest event, if there was one since the last call:
   * those of two machines may be far apart. Called about once a second, so that
   * old events sent again after a subscription do not mislead for long.
   */
  settle(): void {
    if (this.seen === 0) return;
    const ahead = this.ts - this.seen;
    this.skew = Math.abs(ahead) > 1500 ? ahead : 0;
    this.seen = 0;
  }

  /** The server's time now. */
  now(): number {
    return Date.now() + this.skew;
  }
}
