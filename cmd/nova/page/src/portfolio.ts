import { byId, make, say } from "./dom.ts";
import { clock, direction, integer, money, price, signed } from "./format.ts";

/** What the panel shows of a snapshot. */
export interface Snapshot {
  accountId: string;
  totalValue: number;
  cash: number;
  ts: number;
  positions: readonly { symbol: string; quantity: number; avgPrice: number; pnl: number }[];
}

/** The portfolio panel: the newest snapshot, one row per position. */
export class Portfolio {
  private readonly body = byId<HTMLTableElement>("positions").tBodies[0]!;
  private readonly rows: HTMLTableCellElement[][] = [];
  private next: Snapshot | undefined;

  show(snapshot: Snapshot): void {
    this.next = snapshot;
  }

  draw(): void {
    const s = this.next;
    if (s === undefined) return;
    this.next = undefined;
    byId("portfolio-empty").hidden = true;
    const pnl = s.positions.reduce((sum, p) => sum + p.pnl, 0);
    say(byId("portfolio-total"), money(s.totalValue));
    say(byId("portfolio-cash"), money(s.cash));
    const profit = byId("portfolio-pnl");
    say(profit, signed(pnl));
    profit.className = direction(pnl);
    say(byId("portfolio-note"), `${s.accountId} · ${clock(s.ts)}`);
    while (this.rows.length < s.positions.length) this.addRow();
    while (this.rows.length > s.positions.length) this.rows.pop()?.[0]?.parentElement?.remove();
    s.positions.forEach((p, i) => {
      const cells = this.rows[i] ?? [];
      const texts = [p.symbol, integer(p.quantity), price(p.avgPrice), signed(p.pnl)];
      cells.forEach((cell, j) => say(cell, texts[j] ?? ""));
      const last = cells[3];
      if (last !== undefined) last.className = direction(p.pnl);
    });
  }

  private addRow(): void {
    const row = make("tr");
    const head = make("th");
    head.scope = "row";
    const cells = [head, make("td"), make("td"), make("td")];
    row.append(...cells);
    this.body.append(row);
    this.rows.push(cells);
  }
}
