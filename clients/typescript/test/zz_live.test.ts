import net from "node:net";
import { WebSocket } from "ws";
import { expect, test } from "vitest";
import { connect } from "@ignex/nova-client";
import { chat, quote, trade, schema, portfolio } from "./live/index.js";
test("live", async () => {
  const socks = new Set<net.Socket>();
  const proxy = net.createServer((a) => {
    const b = net.connect(38123, "127.0.0.1");
    a.pipe(b); b.pipe(a); a.on("error", () => {}); b.on("error", () => {});
    a.on("close", () => b.destroy()); b.on("close", () => a.destroy());
    socks.add(a); a.on("close", () => socks.delete(a));
  });
  await new Promise<void>((d) => proxy.listen(0, "127.0.0.1", () => d()));
  const url = `ws://127.0.0.1:${(proxy.address() as net.AddressInfo).port}/ws`;
  const errors: any[] = [], gaps: any[] = [], rec: boolean[] = [], status: any[] = [];
  const c = connect(url, { schema, webSocket: WebSocket, reconnect: { initialMs: 5, maxMs: 50 } });
  c.onError((e) => errors.push(String(e)));
  c.onGap((g) => gaps.push(g)); c.onRecovered((r) => rec.push(r)); c.onStatus((s) => status.push(s.state + (s.reason ? ":" + s.reason : "")));
  const seqs: number[] = [], offs: number[] = [], chats: string[] = [];
  c.onAny((_, m) => { seqs.push(m.seq); if (m.topic === "equities") offs.push(m.offset!); });
  c.subscribe("equities"); c.subscribe("room:live");
  c.on(chat, (v) => chats.push(v.text));
  let sent = 0, ok = 0; const outcomes: Record<string, number> = {};
  const end = Date.now() + 12_000;
  let cut = Date.now() + 200;
  while (Date.now() < end) {
    await new Promise((r) => setTimeout(r, 20));
    if (c.status.state !== "closed") {
      sent++;
      c.send(chat, { room: "room:live", user: "ts", text: `m${sent}`, ts: sent } as any).then(() => { ok++; }, (e) => { outcomes[e.code] = (outcomes[e.code] ?? 0) + 1; });
    }
    if (Date.now() > cut) { cut = Date.now() + 150 + Math.random() * 400; for (const s of socks) s.resetAndDestroy(); }
  }
  await new Promise((r) => setTimeout(r, 3500));
  let jumps = 0, dup = 0; for (let i = 1; i < offs.length; i++) { if (offs[i]! > offs[i - 1]! + 1) jumps++; if (offs[i]! <= offs[i - 1]!) dup++; }
  console.log({ n: seqs.length, last: seqs.at(-1), offs: offs.length, jumps, dup, sent, ok, outcomes, rec: rec.length, recTrue: rec.filter(Boolean).length, gaps: gaps.length, g0: gaps.slice(0, 3), errors: [...new Set(errors)].slice(0, 5), chats: chats.length, chatOrder: chats.every((t, i) => i === 0 || +t.slice(1) === +chats[i - 1]!.slice(1) + 1), first: chats[0], status: status.slice(-4), stats: c.stats, groups: c.groups });
  c.close(); proxy.close();
}, 60_000);
