// The generated module of every market event: a changed or cut frame gives a
// value or an error, whatever the bytes are.
import { expect, test } from "vitest";
import { DecodeError, FrameError, Reader, Writer, parseHeader } from "@ignex/nova-client/wire";
import type { EventDescriptor } from "@ignex/nova-client/wire";
import * as market from "../src/market/index.js";

const customer: market.Customer = { id: "c1", name: "Zoë \u{1F600}", vip: true, loyaltyPoints: 12, rating: 4.5 };
const values: { [name: string]: unknown } = {
  quote: { symbol: "AAPL", bid: 189.5, ask: 189.52, bidSize: 300, askSize: 200, ts: 5 } satisfies market.Quote,
  trade: { symbol: "MSFT", price: 1, volume: 1, side: "sell", ts: 2 } satisfies market.Trade,
  portfolio: {
    accountId: "a", positions: [{ symbol: "X", quantity: 1, avgPrice: 2, pnl: 3 }, { symbol: "Y", quantity: 4, avgPrice: 5, pnl: 6 }],
    totalValue: 7, cash: 8, ts: 9, updatedBy: "me",
  } satisfies market.PortfolioSnapshot,
  complex: {
    id: "i", names: ["a", ""], prices: [1, 2], counts: [3], flags: [true, false], tags: ["hot", "sale"], active: true, total: 4, ts: 5,
  } satisfies market.Complex,
  order: {
    orderId: "o", customer, lines: [{ sku: "s", qty: 1, unitPrice: 2, tags: ["new"] }], notes: ["n"], discounts: [0.5],
    active: false, createdAt: 6, billing: customer,
  } satisfies market.Order,
  bigVal: { id: "b", seq: 9007199254740993n, when: 5 } satisfies market.BigVal,
  chat: { room: "lobby", text: "hello", ts: 1 } satisfies market.Chat,
};

const reader = new Reader(() => {});

function read(event: EventDescriptor<any>, frame: Uint8Array): unknown {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  try {
    const h = parseHeader(view);
    return reader.payload(view, h.start, h.end, event.table);
  } catch (e) {
    if (e instanceof DecodeError || e instanceof FrameError) return undefined;
    throw e;
  }
}

test.each(market.schema.events.map((e) => [e.name, e] as const))("%s survives every cut and every changed byte", (name, event) => {
  const frame = new Writer().frame(event.id, event.table, values[name]).slice();
  expect(read(event, frame)).toEqual(values[name]);
  for (let n = 0; n < frame.length; n++) {
    expect(read(event, frame.slice(0, n))).toBeUndefined();
    if (n < 18) continue;
    const cut = frame.slice(0, n);
    new DataView(cut.buffer).setUint32(14, n - 18, true); // so that the reader itself meets the end
    read(event, cut);
  }
  const copy = frame.slice();
  for (let i = 0; i < frame.length; i++) {
    for (let x = 1; x < 256; x++) {
      copy[i] = frame[i]! ^ x;
      read(event, copy);
    }
    copy[i] = frame[i]!;
  }
});
