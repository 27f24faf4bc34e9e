import type { Client, Status } from "@ignex/nova-client";
import { byId, say } from "./dom.ts";

const words: Record<Status["state"], string> = {
  idle: "Not connected",
  connecting: "Connecting",
  connected: "Connected",
  reconnecting: "Reconnecting",
  closed: "Closed",
};

/** Shows the connection's state and lets the visitor drop and renew it. */
export class ConnectionPill {
  private readonly pill = byId("state");
  private readonly text = this.pill.querySelector("span")!;

  /** changed is called with every state, the present one first. */
  constructor(private readonly client: Client, private readonly changed: (connected: boolean) => void) {
    client.onStatus((status) => this.show(status));
    this.show(client.status);
    byId("reconnect").addEventListener("click", () => this.reconnect());
  }

  private show(status: Status): void {
    this.pill.dataset["state"] = status.state;
    const reason = status.state === "closed" && status.reason ? `: ${status.reason}` : "";
    say(this.text, words[status.state] + reason);
    this.changed(status.state === "connected");
  }

  /** A new socket at once, whatever the state: a waiting attempt is cut short. */
  private reconnect(): void {
    this.client.pause();
    this.client.resume();
  }
}
