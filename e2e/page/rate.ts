// A page for measurements: it takes quotes, shows the newest of each symbol once a
// frame, and counts both.
import { connect } from "@ignex/nova-client";
import * as market from "../../cmd/nova/page/src/market/index.ts";

declare global {
  interface Window {
    counts: { quotes: number; frames: number; messages: number };
    subscribed: boolean;
  }
}

window.counts = { quotes: 0, frames: 0, messages: 0 };
const newest = new Map<string, market.Quote>();
const nova = connect(new URL("/ws", location.href), {
  schema: market.schema,
  webSocket: class extends WebSocket {
    constructor(url: string, protocols?: string[]) {
      super(url, protocols);
      this.addEventListener("message", () => window.counts.messages++);
    }
  },
});
const topic = nova.subscribe("rate", { from: "live" });
topic.on(market.quote, (quote) => {
  window.counts.quotes++;
  newest.set(quote.symbol, quote);
});
const table = document.body.appendChild(document.createElement("pre"));
function draw(): void {
  window.counts.frames++;
  table.textContent = [...newest.values()].slice(0, 40).map((q) => `${q.symbol} ${q.bid}`).join("\n");
  requestAnimationFrame(draw);
}
requestAnimationFrame(draw);
