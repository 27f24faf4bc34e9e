// A page for tests only: it records the chats of topic "news" twice, as our client
// has them, and as a client of the base protocol without any capability.
import { connect } from "@ignex/nova-client";
import { batching } from "@ignex/nova-client/batch";
import { Reader, Writer, parseHeader } from "@ignex/nova-client/wire";
import * as control from "../../clients/typescript/src/control/index.ts";
import * as market from "../../cmd/nova/page/src/market/index.ts";

declare global {
  interface Window {
    chats: market.Chat[];
    base: market.Chat[];
    problems: string[];
    extensions: string[];
    say(text: string): Promise<void>;
  }
}

window.chats = [];
window.base = [];
window.problems = [];
window.extensions = [];

const address = new URL("/ws", location.href.replace("http", "ws")).href;
const sockets: WebSocket[] = [];
const Own = batching(class extends WebSocket {
  constructor(url: string, protocols?: string[]) {
    super(url, protocols);
    sockets.push(this);
  }
});
const nova = connect(address, { schema: market.schema, webSocket: Own });
nova.onError((e) => window.problems.push(e.message));
nova.onGap((gap) => window.problems.push(`gap ${JSON.stringify(gap)}`));
const news = nova.subscribe("news");
news.on(market.chat, (chat) => window.chats.push(chat));
window.say = (text) => nova.send(market.chat, { room: "r", text, ts: 0 });

const writer = new Writer();
const reader = new Reader();
const socket = new WebSocket(address);
sockets.push(socket);
socket.binaryType = "arraybuffer";
socket.onopen = () => {
  socket.send(new Uint8Array(writer.frame(control.hello.id, control.hello.table, { version: 2, caps: [], lastSeq: 0 })));
  socket.send(new Uint8Array(writer.frame(control.subscribe.id, control.subscribe.table, { topic: "news" })));
};
socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
  const view = new DataView(data);
  try {
    const { id, start, end } = parseHeader(view);
    if (id === market.chat.id) window.base.push(reader.payload(view, start, end, market.chat.table));
  } catch (cause) {
    window.problems.push(String(cause));
  }
};
socket.onclose = (e) => window.problems.push(`closed ${e.code} ${e.reason}`);
setInterval(() => (window.extensions = sockets.map((s) => s.extensions)), 50);
