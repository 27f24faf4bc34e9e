import { byId, make } from "./dom.ts";
import { direction, integer, percent, price } from "./format.ts";
import type { Book, Instrument } from "./instrument.ts";

/** A cell flashes at most this often, in ms: a busy table stays readable. */
const REST = 1200;
const FLASH = 350;

/** The quotes table: one row per symbol, in the order of symbols. */
export class QuotesTable {
  private readonly body = byId<HTMLTableElement>("quotes").tBodies[0]!;
  private readonly rows = new Map<string, Row>();
  private selected = "";
  /** Until the visitor selects a symbol, the first row is the selected one. */
  private chosen = false;

  /** choose is called with the symbol that the visitor selected. */
  constructor(private readonly book: Book, private readonly choose: (symbol: string) => void) {
    this.body.addEventListener("click", (e) => {
      const row = (e.target as Element).closest("tr");
      const symbol = row?.dataset["symbol"];
      if (symbol === undefined) return;
      this.chosen = true;
      this.select(symbol);
    });
    this.body.addEventListener("keydown", (e) => this.move(e));
  }

  private select(symbol: string): void {
    if (symbol === this.selected) return;
    this.rows.get(this.selected)?.select(false);
    this.selected = symbol;
    this.rows.get(symbol)?.select(true);
    this.choose(symbol);
  }

  /** Brings the rows up to date. */
  draw(now: number): void {
    for (const instrument of this.book.instruments.values()) {
      let row = this.rows.get(instrument.symbol);
      if (row === undefined) row = this.add(instrument);
      row.draw(now);
    }
  }

  private add(instrument: Instrument): Row {
    const row = new Row(instrument);
    this.rows.set(instrument.symbol, row);
    const after = [...this.body.rows].find((r) => (r.dataset["symbol"] ?? "") > instrument.symbol);
    this.body.insertBefore(row.element, after ?? null);
    byId("quotes-empty").hidden = true;
    if (!this.chosen) this.select(this.body.rows[0]?.dataset["symbol"] ?? instrument.symbol);
    return row;
  }

  /** Arrow keys move between symbols. */
  private move(e: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    const row = (e.target as Element).closest("tr");
    if (step === undefined || row === null) return;
    const next = this.body.rows[row.sectionRowIndex + step];
    const symbol = next?.dataset["symbol"];
    if (next === undefined || symbol === undefined) return;
    e.preventDefault();
    this.chosen = true;
    next.querySelector("button")?.focus();
    this.select(symbol);
  }
}

/** One row; it touches the page only where a text changed. */
class Row {
  readonly element = make("tr");
  private readonly button = make("button");
  private readonly bid = new Cell();
  private readonly ask = new Cell();
  private readonly last = new Cell("strong");
  private readonly bidSize = make("td", "", "size");
  private readonly askSize = make("td", "", "size");
  private readonly change = make("td");
  private drawn = -1;

  constructor(private readonly instrument: Instrument) {
    this.element.dataset["symbol"] = instrument.symbol;
    this.button.type = "button";
    this.button.textContent = instrument.symbol;
    this.button.setAttribute("aria-pressed", "false");
    const head = make("th");
    head.scope = "row";
    head.append(this.button);
    this.element.append(head, this.bidSize, this.bid.element, this.ask.element, this.askSize, this.last.element, this.change);
  }

  select(on: boolean): void {
    this.element.toggleAttribute("data-selected", on);
    this.button.setAttribute("aria-pressed", String(on));
  }

  draw(now: number): void {
    this.bid.rest(now);
    this.ask.rest(now);
    this.last.rest(now);
    const i = this.instrument;
    if (i.version === this.drawn) return;
    this.drawn = i.version;
    this.bid.show(i.bid, now);
    this.ask.show(i.ask, now);
    this.last.show(i.last, now);
    set(this.bidSize, integer(i.bidSize));
    set(this.askSize, integer(i.askSize));
    set(this.change, percent(i.change));
    const way = this.change.textContent === "0.00%" ? "" : direction(i.change);
    if (this.change.className !== way) this.change.className = way;
  }
}

/** A price that flashes in the direction it moved. */
class Cell {
  readonly element = make("td");
  private readonly text = make("span", "–");
  private value = NaN;
  private until = 0;
  private quietUntil = 0;

  /** A strong cell flashes in its background, the others in their ink alone. */
  constructor(style: "strong" | "" = "") {
    this.text.className = style;
    this.element.append(this.text);
  }

  show(value: number, now: number): void {
    const before = this.value;
    if (value === before || Number.isNaN(value)) return;
    this.value = value;
    set(this.text, price(value));
    if (Number.isNaN(before) || now < this.quietUntil) return;
    this.element.dataset["flash"] = value > before ? "up" : "down";
    this.until = now + FLASH;
    this.quietUntil = now + REST;
  }

  /** Ends a flash; style lets it fade. */
  rest(now: number): void {
    if (this.until === 0 || now < this.until) return;
    this.until = 0;
    delete this.element.dataset["flash"];
  }
}

function set(e: Element, text: string): void {
  if (e.textContent !== text) e.textContent = text;
}
