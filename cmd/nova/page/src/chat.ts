import { byId, make, say } from "./dom.ts";
import { clock, millis } from "./format.ts";

/** The `chat` event. */
export interface ChatMessage {
  room: string;
  text: string;
  ts: number;
}

/** Messages shown; older ones leave the page. */
const SHOWN = 200;

/**
 * The chat box. What one sends comes back as the same typed event through the
 * topic of its room, so one's own messages are known by text and time.
 */
export class Chat {
  private readonly log = byId<HTMLOListElement>("chat-log");
  private readonly form = byId<HTMLFormElement>("chat-form");
  private readonly input = byId<HTMLInputElement>("chat-text");
  /** Sent and not yet back, with the time of sending. */
  private readonly pending = new Map<string, number>();

  /** send gives the message to the client; it rejects when that cannot take it. */
  constructor(private readonly room: string, private readonly send: (m: ChatMessage) => Promise<unknown>) {
    this.form.addEventListener("submit", (e) => {
      e.preventDefault();
      void this.submit();
    });
  }

  receive(m: ChatMessage): void {
    if (m.room !== this.room) return;
    const key = identity(m);
    const sent = this.pending.get(key);
    this.pending.delete(key);
    const item = make("li", "", sent === undefined ? "" : "mine");
    const who = sent === undefined ? "Visitor" : "You";
    const back = sent === undefined ? "" : ` · there and back in ${millis(performance.now() - sent)} ms`;
    item.append(make("p", m.text), make("small", `${who} · ${clock(m.ts)}${back}`));
    const atEnd = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 60;
    this.log.append(item);
    while (this.log.childElementCount > SHOWN) this.log.firstElementChild?.remove();
    if (atEnd || sent !== undefined) this.log.scrollTop = this.log.scrollHeight;
  }

  private async submit(): Promise<void> {
    const text = this.input.value.trim();
    if (text === "") return;
    const message = { room: this.room, text, ts: Date.now() };
    const key = identity(message);
    this.pending.set(key, performance.now());
    this.input.value = "";
    say(byId("chat-error"), "");
    try {
      await this.send(message);
    } catch (error) {
      this.pending.delete(key);
      if (this.input.value === "") this.input.value = text;
      say(byId("chat-error"), `Not sent: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

function identity(m: ChatMessage): string {
  return `${m.ts} ${m.text}`;
}
