// A page for tests only: it connects with the tokens it is given.
import { createClient, type Status } from "@ignex/nova-client";
import { renewToken } from "@ignex/nova-client/auth";

interface Attempt {
  /** The statuses, as text. */
  states: string[];
  /** The errors told. */
  errors: string[];
  /** How often a token was asked for. */
  asked: number;
}

declare global {
  interface Window {
    attempt: Attempt;
    /** Connects; the last token is given again and again. */
    enter(tokens: string[], inBand?: boolean): void;
    /** Opens a bare WebSocket and returns what the browser was told. */
    bare(token: string): Promise<{ protocol: string; code: number; reason: string }>;
  }
}

const address = new URLSearchParams(location.search).get("server")!;

window.enter = (tokens, inBand = false) => {
  const attempt: Attempt = (window.attempt = { states: [], errors: [], asked: 0 });
  const token = () => tokens[Math.min(attempt.asked++, tokens.length - 1)];
  const client = createClient(address, { token, reconnect: { initialMs: 1, maxMs: 50 } });
  client.onStatus(({ state, code }: Status) => attempt.states.push(code === undefined ? state : `${state} ${code}`));
  client.onError((e) => attempt.errors.push(e.code));
  renewToken(client, { inBand });
  client.connect();
};

window.bare = (token) =>
  new Promise((done) => {
    const coded = btoa(token).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    const ws = new WebSocket(`${address}?nova=2`, ["nova.v2", `nova.token.${coded}`]);
    let protocol = "";
    ws.onopen = () => {
      protocol = ws.protocol;
      setTimeout(() => ws.close(1000), 100);
    };
    ws.onclose = ({ code, reason }) => done({ protocol, code, reason });
  });
