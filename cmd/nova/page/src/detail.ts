import { textOf, valueAt, type Column } from "./columns.ts";
import { byId, make, say } from "./dom.ts";
import { integer } from "./format.ts";
import type { EventRecord } from "./records.ts";

/** All fields of one event: the newest, or the one that was selected. */
export class Detail {
  private columns: readonly Column[] = [];
  private readonly list = byId<HTMLDListElement>("detail-fields");
  private readonly values: HTMLElement[] = [];
  private held = false;
  private next: EventRecord | undefined;

  constructor() {
    byId("detail-follow").addEventListener("click", () => this.hold(false));
    this.hold(false);
  }

  show(columns: readonly Column[]): void {
    this.columns = columns;
    this.next = undefined;
    this.hold(false);
    this.values.length = 0;
    this.list.replaceChildren();
    for (const c of columns) {
      const value = make("dd", "–");
      this.values.push(value);
      this.list.append(make("dt", c.label), value);
    }
  }

  /** A new event arrived. */
  newest(record: EventRecord): void {
    if (!this.held) this.next = record;
  }

  /** Shows this event until the visitor follows the newest again. */
  select(record: EventRecord): void {
    this.hold(true);
    this.next = record;
  }

  draw(): void {
    const record = this.next;
    if (record === undefined) return;
    this.next = undefined;
    say(byId("detail-title"), this.held ? `Event ${integer(record.number)}` : "Newest event");
    this.columns.forEach((c, i) => {
      const cell = this.values[i];
      if (cell === undefined) return;
      const text = textOf(valueAt(record.value, c.path), c.field);
      say(cell, text === "" ? "–" : text);
      cell.classList.toggle("none", text === "");
    });
  }

  private hold(on: boolean): void {
    this.held = on;
    byId("detail-follow").hidden = !on;
  }
}
