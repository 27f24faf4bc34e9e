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
import { Proof } from "./proof.ts";
import { QuotesTable } from "./quotes.ts";
import { countClients, offerSpeed } from "./server.ts";
import { Tap } from "./tap.ts";
import { themeButton } from "./theme.ts";
import { Tape } from "./trades.ts";
import { offerCommand } from "./try.ts";
import { calm, everyFrame, paced } from "./ticker.ts";

const ROOM = "lobby";
/** More events than the demo keeps of a topic. */
const EVERYTHING = 2 ** 20;
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

/** Names the socket of this page to the server, which cuts it on our wish. */
const page = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
const nova = connect(`${socketURL()}?page=${page}`, { schema: market.schema, webSocket: tap.socket });

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

const proof = new Proof(nova, topics[0] ?? "", page, () => book.now());

for (const topic of topics) nova.subscribe(topic, { limit: EVERYTHING });
nova.subscribe(ROOM);

offerCommand(ROOM);
void offerSpeed();

new ConnectionPill(nova, (connected) => {
  proof.connection(connected);
  if (connected) {
    rate.connected();
    latency.connected();
  } else latency.disconnected();
});

themeButton(() => {
  const palette = readPalette();
  chart.paint(palette);
  proof.paint(palette);
  rate.spark.paint(palette.accent);
  latency.spark.paint(palette.up);
});

everyFrame([
  (now) => chart.draw(now),
  paced(calm() ? 250 : 50, () => proof.draw()),
  paced(250, () => proof.read()),
  paced(80, (now) => quotes.draw(now)),
  paced(120, () => tape.draw()),
  paced(250, () => portfolio.draw()),
  paced(250, () => anatomy.draw(nova.stats.bytes, rate.total)),
  paced(READING, (now) => {
    rate.read(now);
    latency.read();
  }),
  paced(1000, () => book.settle()),
  paced(2000, () => void (nova.status.state === "connected" && countClients())),
]);
