import { connect, type Client } from "@ignex/nova-client";
import { byId, say, socketURL } from "./dom.ts";
import { integer, millis } from "./format.ts";
import { Lane, LaneChart } from "./lanes.ts";
import * as market from "./market/index.ts";
import type { Palette } from "./palette.ts";

/** How long a cut lasts, and how long what was missed may take afterwards, in ms. */
const CUT = 5000;
const PATIENCE = 5000;

/** The trades that one of the two connections got. */
class Side {
  readonly lane = new Lane();
  /** Offset of the newest, and how many came behind `base`, from where both are compared. */
  last = 0;
  base = Infinity;
  count = 0;

  take(offset: number): void {
    if (offset > this.last) this.last = offset;
    if (offset > this.base) this.count++;
  }

  reset(): void {
    this.last = this.count = 0;
    this.base = Infinity;
  }
}

/** A cut that the visitor made. */
interface Cut {
  /** What both sides had when it began. */
  readonly from: number;
  /** Trades that the witness got until there was a socket again. */
  missed: number;
  /** When there was a socket again, and all that was missed; 0 = not yet. */
  back: number;
  whole: number;
}

/**
 * Shows that a cut connection loses nothing. A second connection of the page is
 * never cut, the witness: what it got and the page's own did not is missing.
 */
export class Proof {
  private readonly witness = new Side();
  private readonly own = new Side();
  private readonly chart = new LaneChart(this.witness.lane, this.own.lane);
  private readonly button = byId<HTMLButtonElement>("cut");
  private connected = false;
  /** When the page's first socket was there, and its present one, by the server's clock. */
  private born = Infinity;
  private since = Infinity;
  private history = 0;
  private cut: Cut | undefined;
  /** The client is held off until then, by the page's clock. */
  private until = 0;
  private timer = 0;
  private missing = 0;

  /**
   * @param page the name that the client's socket has at the server
   * @param now the server's time
   */
  constructor(private readonly client: Client, topic: string, private readonly page: string, private readonly now: () => number) {
    client.on(market.trade, (t, meta) => {
      this.own.lane.add(t.ts, t.ts < this.born ? "history" : t.ts < this.since ? "late" : "live");
      this.own.take(meta.offset ?? 0);
      const { cut } = this;
      if (cut !== undefined && cut.back > 0 && this.own.count >= cut.from + cut.missed) cut.whole ||= performance.now();
    });
    client.onAny((value, meta) => {
      if (meta.topic === topic && (value as { ts?: number }).ts! < this.born) this.history++;
    });
    const witness = connect(socketURL()); // without a schema it decodes trades only
    witness.on(market.trade, (t, meta) => {
      this.witness.lane.add(t.ts, "live");
      this.witness.take(meta.offset ?? 0);
    });
    witness.onError((e) => {
      if (e.code !== "unimplemented") console.error(e);
    });
    witness.subscribe(topic);
    for (const c of [client, witness]) {
      c.onRecovered((recovered) => recovered || this.anew("The server has begun anew: the old session is lost, and the page was told so."));
      // A gap of a topic follows a lost session, which is told.
      c.onGap(({ topic }) => topic || this.anew("More came than the server keeps for a page that is slow or away: it dropped some, and told which."));
    }
    client.onStatus(({ state }) => {
      // The client has noticed the loss; held off, it does not come back at once. The
      // other listeners hear of this status before that of the pause.
      if (state === "reconnecting") queueMicrotask(() => this.until > 0 && client.pause());
    });
    this.button.addEventListener("click", () => (this.connected ? this.begin() : this.mend()));
  }

  /** Says whether the page's own connection is up. */
  connection(up: boolean): void {
    if (up && !this.connected) {
      this.since = this.now();
      this.born = Math.min(this.born, this.since);
      this.release();
      if (this.cut !== undefined) {
        this.cut.missed = this.witness.count - this.cut.from;
        this.cut.back = performance.now();
      }
    }
    this.connected = up;
  }

  paint(palette: Palette): void {
    this.chart.paint(palette);
  }

  draw(): void {
    this.chart.draw(this.now());
  }

  /** Compares both sides and says it; call it a few times a second. */
  read(): void {
    const { witness, own, cut } = this;
    if (own.base === Infinity && witness.last > 0 && own.last > 0) witness.base = own.base = Math.max(witness.last, own.last);
    const missing = witness.count - own.count;
    // What is under way to one of the two is not missing, unless it stays so.
    const shown = Math.max(0, this.connected ? Math.min(missing, this.missing) : missing);
    this.missing = missing;
    say(byId("proof-history"), integer(this.history));
    say(byId("proof-witness"), integer(witness.count));
    say(byId("proof-own"), integer(own.count));
    say(byId("proof-missing"), integer(shown));
    byId("proof-missing").className = shown > 0 ? "down" : "up";
    const left = Math.ceil((this.until - performance.now()) / 1000);
    say(this.button, this.until > 0 ? `Reconnect now (${Math.max(left, 0)} s)` : "Cut the connection");
    if (cut !== undefined && cut.back > 0) this.settle(cut, missing);
  }

  /** Lets the server cut the TCP connection, without a goodbye to either side. */
  private begin(): void {
    this.cut = { from: this.witness.count, missed: 0, back: 0, whole: 0 };
    this.until = performance.now() + CUT;
    this.timer = window.setTimeout(() => this.mend(), CUT);
    say(byId("proof-said"), "The TCP connection is cut. The market goes on.");
    this.read();
    const headers = { "content-type": "application/json" };
    fetch("cut", { method: "POST", headers, body: JSON.stringify({ page: this.page }) })
      .then((answer) => answer.ok || this.client.pause()) // it cannot: then the client closes its socket
      .catch(() => {}); // the network is gone by itself
  }

  private mend(): void {
    this.release();
    this.client.pause();
    this.client.resume();
  }

  private release(): void {
    clearTimeout(this.timer);
    this.until = 0;
  }

  /** Tells how a cut went, once what was missed is here. */
  private settle(cut: Cut, missing: number): void {
    if ((missing > 0 || cut.whole === 0) && performance.now() - cut.back < PATIENCE) return;
    this.cut = undefined;
    const trades = `${integer(cut.missed)} trades happened meanwhile`;
    say(byId("proof-said"), missing > 0 ? `${trades}, ${integer(missing)} are missing.` : `${trades}. All followed within ${millis(Math.max(0, cut.whole - cut.back))} ms of the reconnect, none twice.`);
  }

  /** Something is lost, and known to be: both sides are compared from now on. */
  private anew(why: string): void {
    this.witness.reset();
    this.own.reset();
    this.cut = undefined;
    say(byId("proof-said"), why);
  }
}
