import { textOf, valueAt, type Column } from "./columns.ts";
import { byId, make, say } from "./dom.ts";
import type { Values } from "./dynamic.ts";
import { parseFilter, type Filter } from "./filter.ts";
import { clock, integer } from "./format.ts";

/** One received event. */
export interface EventRecord {
  /** 1 for the first event of its kind on this page. */
  number: number;
  received: number;
  value: Values;
}

/** Events kept to be filtered; older ones are forgotten. */
const KEPT = 5000;
/** Rows in the table. */
const ROWS = 100;

/** The table of decoded events: newest first, one column per field. */
export class Records {
  private readonly table = byId<HTMLTableElement>("records");
  private readonly body = this.table.tBodies[0]!;
  private readonly box = byId<HTMLInputElement>("filter");
  private columns: readonly Column[] = [];
  private filter: Filter = () => true;
  private records: EventRecord[] = [];
  private readonly byRow = new WeakMap<HTMLTableRowElement, EventRecord>();
  private total = 0;
  /** Records already considered for a row. */
  private drawn = 0;
  private matches = 0;
  private selected: EventRecord | undefined;

  /** choose is called with the record that the visitor selected. */
  constructor(private readonly choose: (record: EventRecord) => void) {
    this.box.addEventListener("input", () => this.apply());
    this.body.addEventListener("click", (e) => {
      const row = (e.target as Element).closest("tr");
      if (row !== null) this.select(row);
    });
    this.body.addEventListener("keydown", (e) => this.move(e));
  }

  /** Starts anew with the columns of another event. */
  show(columns: readonly Column[]): void {
    this.columns = columns;
    this.records = [];
    this.total = 0;
    const head = make("tr");
    for (const [text, numeric] of [["#", false], ["Received", false], ...columns.map((c) => [c.label, c.numeric] as const)] as const) {
      const cell = make("th", text, numeric ? "number" : "");
      cell.scope = "col";
      head.append(cell);
    }
    this.table.tHead!.replaceChildren(head);
    const numeric = columns.find((c) => c.numeric);
    this.box.placeholder = numeric === undefined ? "Filter: words" : `Filter: words, or ${numeric.label}>4`;
    this.apply();
  }

  add(value: Values): EventRecord {
    const record = { number: ++this.total, received: Date.now(), value };
    this.records.push(record);
    if (this.records.length > KEPT + 500) {
      this.records.splice(0, 500);
      this.drawn = Math.max(0, this.drawn - 500);
    }
    return record;
  }

  /** Brings the table up to date: new rows at the top. */
  draw(): void {
    const fresh: HTMLTableRowElement[] = [];
    for (let i = this.records.length - 1; i >= this.drawn; i--) {
      const record = this.records[i]!;
      if (!this.filter(record.value)) continue;
      this.matches++;
      if (fresh.length < ROWS) fresh.push(this.row(record));
    }
    if (this.drawn === this.records.length) return;
    this.drawn = this.records.length;
    this.body.prepend(...fresh);
    while (this.body.rows.length > ROWS) this.body.lastElementChild?.remove();
    this.count();
  }

  private apply(): void {
    this.filter = parseFilter(this.box.value, this.columns);
    this.drawn = 0;
    this.matches = 0;
    this.body.replaceChildren();
    this.count();
    this.draw();
  }

  private count(): void {
    const filtered = this.box.value.trim() === "" ? "" : ` · ${integer(this.matches)} match`;
    say(byId("records-note"), `${integer(this.total)} received${filtered}`);
    const empty = byId("records-empty");
    empty.hidden = this.body.rows.length > 0;
    say(empty, this.total === 0 ? "Waiting for the first event…" : "Nothing received matches the filter.");
  }

  private row(record: EventRecord): HTMLTableRowElement {
    const row = make("tr");
    const head = make("th");
    head.scope = "row";
    const button = make("button", integer(record.number));
    button.type = "button";
    head.append(button);
    row.append(head, make("td", clock(record.received), "soft"));
    for (const c of this.columns) {
      const text = textOf(valueAt(record.value, c.path), c.field);
      const cell = make("td", text === "" ? "–" : text, text === "" ? "none" : "");
      if (c.numeric) cell.classList.add("number");
      if (text.length > 40) cell.title = text;
      row.append(cell);
    }
    this.byRow.set(row, record);
    row.toggleAttribute("data-selected", record === this.selected);
    button.setAttribute("aria-pressed", String(record === this.selected));
    return row;
  }

  private select(row: HTMLTableRowElement): void {
    const record = this.byRow.get(row);
    if (record === undefined) return;
    this.selected = record;
    for (const other of this.body.rows) {
      const on = other === row;
      if (other.hasAttribute("data-selected") === on) continue;
      other.toggleAttribute("data-selected", on);
      other.querySelector("button")?.setAttribute("aria-pressed", String(on));
    }
    this.choose(record);
  }

  /** Arrow keys move between records. */
  private move(e: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    const row = (e.target as Element).closest("tr");
    if (step === undefined || row === null) return;
    const next = this.body.rows[row.sectionRowIndex + step];
    if (next === undefined) return;
    e.preventDefault();
    next.querySelector("button")?.focus();
    this.select(next);
  }
}
