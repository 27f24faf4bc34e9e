import { expect, test } from "vitest";
import { Book, Instrument, KEPT, Series } from "../src/instrument.ts";
import { bytes, percent, price, signed } from "../src/format.ts";

test("a series keeps ten minutes, in order, and finds what a slow search finds", () => {
  const seed = Date.now() % 1e6;
  console.log(`seed ${seed}`);
  let state = seed;
  const next = () => (state = (state * 48271 + 11) % 2147483647) / 2147483647;
  const series = new Series();
  const points: { t: number; v: number }[] = [];
  let t = 1.7e12;
  for (let i = 0; i < 30_000; i++) {
    t += 41 + Math.floor(next() * 100);
    series.add(t, i);
    points.push({ t, v: i });
  }
  const kept = points.filter((p) => p.t >= t - KEPT);
  expect(series.t.slice(series.first)).toEqual(kept.map((p) => p.t));
  expect(series.v.slice(series.first)).toEqual(kept.map((p) => p.v));
  expect(series.t.length).toBeLessThan(kept.length + 9000);
  for (let i = 0; i < 300; i++) {
    const at = t - KEPT * 1.1 + next() * KEPT * 1.2;
    expect(series.t[series.at(at)]).toBe(kept.find((p) => p.t >= at)?.t);
    const nearest = Math.min(...kept.map((p) => Math.abs(p.t - at)));
    expect(Math.abs(series.nearest(at)!.t - at)).toBe(nearest);
  }
});

test("points of one moment are one, old ones are not added again", () => {
  const series = new Series();
  series.add(1000, 1);
  series.add(1001, 2);
  series.add(1200, 3);
  series.add(900, 4);
  expect([series.t, series.v]).toEqual([[1000, 1200], [2, 3]]);
  expect(new Series().nearest(5)).toBeUndefined();
});

test("the last price is the middle until there is a trade", () => {
  const i = new Instrument("A");
  i.quote({ bid: 9, ask: 11, bidSize: 1, askSize: 1, ts: 1 });
  expect([i.last, i.open, i.change]).toEqual([10, 10, 0]);
  i.trade(11, true, 2);
  i.quote({ bid: 1, ask: 2, bidSize: 1, askSize: 1, ts: 3 });
  expect(i.last).toBe(11);
  expect(i.change).toBeCloseTo(0.1);
});

test("a server whose clock is far ahead moves the time axis", () => {
  const book = new Book();
  book.tick(Date.now() + 60_000);
  book.settle();
  expect(Math.abs(book.now() - Date.now() - 60_000)).toBeLessThan(1000);
  book.tick(Date.now() - 3);
  book.settle();
  expect(Math.abs(book.now() - Date.now())).toBeLessThan(1000);
});

test("numbers as they are shown", () => {
  expect([price(1234.5), price(-9.5), price(0.02, 187)]).toEqual(["1,234.50", "\u22129.5000", "0.02"]);
  expect([percent(0.0123), percent(-0.5), percent(-0.00001)]).toEqual(["+1.23%", "\u221250.00%", "0.00%"]);
  expect([signed(0), signed(-1234.5)]).toEqual(["+0.00", "\u22121,234.50"]);
  expect([bytes(999), bytes(12_345), bytes(1.5e6)]).toEqual(["999 B", "12.3 kB", "1.5 MB"]);
});
