import { byId, make, say } from "./dom.ts";
import { clock, integer, price } from "./format.ts";

/** What the tape shows of a trade. */
export interface TapeEntry {
  ts: number;
  symbol: string;
  side: string;
  volume: number;
  price: number;
}

const ROWS = 30;

/** The newest trades, newest first, in rows that are used again. */
export class Tape {
  private readonly table = byId<HTMLTableElement>("trades");
  private readonly panel = this.table.parentElement!;
  private readonly rows: HTMLTableCellElement[][] = [];
  /** Ring of the newest entries; `count` is how many there ever were. */
  private readonly entries: TapeEntry[] = [];
  private count = 0;
  private drawn = 0;
  // Kept by events: asking the page in every drawing would force a layout.
  private over = false;
  private scrolled = false;

  constructor() {
    this.panel.addEventListener("pointerenter", (e) => (this.over = e.pointerType === "mouse"));
    this.panel.addEventListener("pointerleave", () => (this.over = false));
    this.panel.addEventListener("scroll", () => (this.scrolled = this.panel.scrollTop > 4), { passive: true });
  }

  push(entry: TapeEntry): void {
    this.entries[this.count++ % ROWS] = entry;
  }

  /** Shows the newest trades; it rests while the pointer is over it or a reader scrolled down. */
  draw(): void {
    if (this.count === this.drawn) return;
    const held = this.over || this.scrolled;
    say(byId("trades-note"), held ? "paused while you read" : "newest first");
    if (held && this.rows.length > 0) return;
    this.drawn = this.count;
    byId("trades-empty").hidden = true;
    const n = Math.min(this.count, ROWS);
    while (this.rows.length < n) this.addRow();
    for (let i = 0; i < n; i++) {
      const entry = this.entries[(this.count - 1 - i) % ROWS];
      const cells = this.rows[i];
      if (entry !== undefined && cells !== undefined) fill(cells, entry);
    }
  }

  private addRow(): void {
    const row = make("tr");
    const cells = Array.from({ length: 5 }, () => make("td"));
    row.append(...cells);
    this.table.tBodies[0]!.append(row);
    this.rows.push(cells);
  }
}

function fill(cells: HTMLTableCellElement[], e: TapeEntry): void {
  const texts = [clock(e.ts), e.symbol, e.side === "buy" ? "Buy" : e.side === "sell" ? "Sell" : e.side, integer(e.volume), price(e.price)];
  cells.forEach((cell, i) => say(cell, texts[i] ?? ""));
  const way = e.side === "buy" ? "up" : "down";
  for (const cell of [cells[2], cells[4]]) if (cell !== undefined && cell.className !== way) cell.className = way;
}
