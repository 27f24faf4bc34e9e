// A page for tests only: it records what the client hands to a handler.
import { connect } from "@ignex/nova-client";
import * as market from "../../cmd/nova/page/src/market/index.ts";

declare global {
  interface Window {
    quotes: market.Quote[];
    errors: string[];
    ready: boolean;
  }
}

window.quotes = [];
window.errors = [];
window.ready = false;

const nova = connect(new URL("/ws", location.href), { schema: market.schema });
nova.onError((e) => window.errors.push(e.message));
nova.on(market.quote, (q) => window.quotes.push(q));
nova.on(market.chat, () => (window.ready = true));
nova.subscribe("equities");
nova.subscribe("recorder");
// It comes back after the server has read both subscriptions.
void nova.send(market.chat, { room: "recorder", text: "ready?", ts: Date.now() });
