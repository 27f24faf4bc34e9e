// The page for any schema: the server's /schema says what the frames hold.
import { connect } from "@ignex/nova-client";
import { columnsOf, geographyOf, valueAt, type Column, type Geography } from "./columns.ts";
import { ConnectionPill } from "./connection.ts";
import { Detail } from "./detail.ts";
import { byId, make, say, setting, socketURL } from "./dom.ts";
import { dynamicSchema, type Values } from "./dynamic.ts";
import { bytes, integer } from "./format.ts";
import { checkLayout, type EventType, type Layout } from "./layout.ts";
import { Rate, READING } from "./meter.ts";
import { readPalette } from "./palette.ts";
import { Records } from "./records.ts";
import { themeButton } from "./theme.ts";
import { everyFrame, paced } from "./ticker.ts";
import { WorldMap, type Place } from "./world.ts";

const rate = new Rate("rate", integer);
const volume = new Rate("volume", bytes);
const map = new WorldMap();
const detail = new Detail();
const places = new WeakMap<Values, Place>();
const records = new Records((record) => {
  detail.select(record);
  map.choose(places.get(record.value));
});
byId("detail-follow").addEventListener("click", () => map.choose(undefined));

/** More events than a server keeps of a topic. */
const EVERYTHING = 2 ** 20;

/** Bytes received so far. */
let received = () => 0;
let shown: EventType | undefined;
let geography: Geography | undefined;

function show(layout: Layout, event: EventType): void {
  shown = event;
  const columns: Column[] = columnsOf(layout, event.table);
  geography = geographyOf(columns);
  map.clear();
  records.show(columns);
  detail.show(columns);
  byId("main").toggleAttribute("data-plain", geography === undefined);
  say(byId("records-title"), event.name);
  const size = geography?.size;
  say(byId("world-note"), size === undefined ? "" : `radius: ${size.label}`);
}

function receive(event: EventType, v: Values): void {
  rate.count();
  if (event !== shown) return;
  const record = records.add(v);
  detail.newest(record);
  if (geography === undefined) return;
  const longitude = valueAt(v, geography.longitude.path);
  const latitude = valueAt(v, geography.latitude.path);
  if (typeof longitude !== "number" || typeof latitude !== "number") return;
  const size = geography.size === undefined ? NaN : valueAt(v, geography.size.path);
  const place = { longitude, latitude, size: typeof size === "number" ? size : NaN, seen: performance.now() };
  places.set(v, place);
  map.add(place);
}

/** Fills the box that chooses between events; one event needs none. */
function offer(layout: Layout, events: readonly EventType[]): void {
  const box = byId<HTMLSelectElement>("event");
  box.replaceChildren(...events.map((e) => make("option", e.name)));
  byId("event-choice").hidden = events.length < 2;
  box.addEventListener("change", () => {
    const event = events[box.selectedIndex];
    if (event !== undefined) show(layout, event);
  });
}

async function start(): Promise<void> {
  const answer = await fetch(setting("schema") ?? "schema");
  if (!answer.ok) throw new Error(`the server does not tell its schema (HTTP ${answer.status})`);
  const layout = checkLayout(await answer.json());
  const schema = dynamicSchema(layout);
  const events = layout.events.filter((e) => !e.internal);
  say(byId("schema-name"), layout.package);
  document.title = `nova · ${layout.package}`;
  offer(layout, events);
  const first = events[0];
  if (first === undefined) throw new Error("the schema has no events");
  show(layout, first);

  const nova = connect(socketURL(), { schema });
  received = () => nova.stats.bytes;
  let any = false;
  for (const event of events) {
    const descriptor = schema.events.find((e) => e.name === event.name);
    if (descriptor === undefined) continue;
    nova.on(descriptor, (v) => {
      // The first event to arrive is the one to look at.
      if (!any && event !== shown) {
        byId<HTMLSelectElement>("event").value = event.name;
        show(layout, event);
      }
      any = true;
      receive(event, v);
    });
  }
  for (const topic of (setting("topics") ?? "").split(",")) if (topic !== "") nova.subscribe(topic, { limit: EVERYTHING });
  new ConnectionPill(nova, (connected) => {
    if (!connected) return;
    rate.connected();
    volume.connected();
  });
}

themeButton(() => {
  const palette = readPalette();
  map.paint(palette);
  rate.spark.paint(palette.accent);
  volume.spark.paint(palette.up);
});
everyFrame([
  (now) => map.draw(now),
  paced(200, () => records.draw()),
  paced(200, () => detail.draw()),
  paced(READING, (now) => {
    rate.read(now);
    volume.count(received() - volume.total);
    volume.read(now);
  }),
]);
start().catch((error: unknown) => {
  byId("state").dataset["state"] = "closed";
  say(byId("state").querySelector("span")!, "Not started");
  say(byId("problem"), error instanceof Error ? error.message : String(error));
});
