const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const two = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const four = new Intl.NumberFormat("en-US", { minimumFractionDigits: 4, maximumFractionDigits: 4 });

const MINUS = "\u2212";

/** 12,345 */
export function integer(n: number): string {
  return whole.format(n).replace("-", MINUS);
}

/** A price: two decimals, four below ten, or as many as a price near `like` has. */
export function price(n: number, like = n): string {
  return (Math.abs(like) < 10 ? four : two).format(n).replace("-", MINUS);
}

/** An amount of money: two decimals. */
export function money(n: number): string {
  return two.format(n).replace("-", MINUS);
}

/** +1,234.50: always with its sign. */
export function signed(n: number): string {
  return (n < 0 ? MINUS : "+") + two.format(Math.abs(n));
}

/** +0.42%, from a fraction. */
export function percent(fraction: number): string {
  const text = two.format(Math.abs(fraction * 100));
  if (text === "0.00") return "0.00%";
  return (fraction < 0 ? MINUS : "+") + text + "%";
}

/** 980 B, 12.3 kB, 4.5 MB */
export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  if (n < 1e6) return `${(n / 1e3).toFixed(1)} kB`;
  if (n < 1e9) return `${(n / 1e6).toFixed(1)} MB`;
  return `${(n / 1e9).toFixed(2)} GB`;
}

/** Milliseconds, shorter as they grow: 0.4, 12, 1,240. */
export function millis(n: number): string {
  return n < 10 ? n.toFixed(1) : integer(n);
}

/** 14:03:09, local time. */
export function clock(ms: number): string {
  const d = new Date(ms);
  return `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
}

/** 2018-01-31 01:49:59, UTC. */
export function moment(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

function pad(n: number): string {
  return n < 10 ? `0${n}` : String(n);
}

/** The direction class of a change. */
export function direction(n: number): "up" | "down" | "" {
  return n > 0 ? "up" : n < 0 ? "down" : "";
}
