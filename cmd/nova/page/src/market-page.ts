// The market page: the TypeScript client and the generated market module turn
// frames into state; parts turn the newest state into pixels once per frame.
import { connect } from "@ignex/nova-client";
import { Anatomy } from "./anatomy.ts";
import { Chat } from "./chat.ts";
import { PriceChart } from "./chart.ts";
import { ConnectionPill } from "./connection.ts";
import { byId, say, setting, socketURL } from "./dom.ts";
import { integer } from "./format.ts";
import { Book } from "./instrument.ts";
import * as market from "./market/index.ts";
import { Latency, Rate, READING } from "./meter.ts";
import { readPalette } from "./palette.ts";
import { Portfolio } from "./portfolio.ts";
import { QuotesTable } from "./quotes.ts";
import { Tap } from "./tap.ts";
import { themeButton } from "./theme.ts";
import { Tape } from "./trades.ts";
import { offerCommand } from "./try.ts";
import { everyFrame, paced } from "./ticker.ts";

const ROOM = "lobby";
const topics = (setting("topics") ?? "equities").split(",");

say(byId("quotes-topic"), topics.join(", "));

const book = new Book();
const rate = new Rate("rate", integer);
const latency = new Latency();
const chart = new PriceChart(book);
const quotes = new QuotesTable(book, (symbol) => chart.show(book.get(symbol)));
const tape = new Tape();
const portfolio = new Portfolio();
const tap = new Tap();
const anatomy = new Anatomy(market.quote, topics[0] ?? "", tap);

const nova = connect(socketURL(), { schema: market.schema, webSocket: tap.socket });

nova.on(market.quote, (q) => {
  rate.count();
  latency.sample(q.ts);
  book.tick(q.ts);
  book.get(q.symbol).quote(q);
});
nova.on(market.trade, (t) => {
  rate.count();
  latency.sample(t.ts);
  book.tick(t.ts);
  book.get(t.symbol).trade(t.price, t.side === "buy", t.ts);
  tape.push(t);
});
nova.on(market.portfolio, (p) => {
  rate.count();
  latency.sample(p.ts);
  portfolio.show(p);
});

const chat = new Chat(ROOM, (message) => nova.send(market.chat, message));
nova.on(market.chat, (m) => {
  rate.count();
  chat.receive(m);
});

for (const topic of topics) nova.subscribe(topic);
nova.subscribe(ROOM);

offerCommand(ROOM);

new ConnectionPill(nova, (connected) => {
  if (connected) {
    rate.connected();
    latency.connected();
  } else latency.disconnected();
});

themeButton(() => {
  const palette = readPalette();
  chart.paint(palette);
  rate.spark.paint(palette.accent);
  latency.spark.paint(palette.up);
});

everyFrame([
  (now) => chart.draw(now),
  paced(80, (now) => quotes.draw(now)),
  paced(120, () => tape.draw()),
  paced(250, () => portfolio.draw()),
  paced(250, () => anatomy.draw(nova.stats.bytes, rate.total)),
  paced(READING, (now) => {
    rate.read(now);
    latency.read();
  }),
  paced(1000, () => book.settle()),
]);
