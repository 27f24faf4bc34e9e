import { byId, say } from "./dom.ts";

/** A command that publishes a chat message over the HTTP API, for visitors to copy. */
export function offerCommand(room: string): void {
  const request = { event: "chat", target: { topic: room }, data: { room, text: "Hello from curl", ts: Date.now() } };
  const command = `curl ${new URL("api/publish", location.href).href} --json '${JSON.stringify(request)}'`;
  say(byId("try-command"), command);
  const button = byId<HTMLButtonElement>("try-copy");
  const label = button.querySelector("span")!;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command);
      say(label, "Copied");
    } catch {
      // No clipboard on this origin: select the text, so that copying is one key.
      getSelection()?.selectAllChildren(byId("try-command"));
      say(label, "Selected");
    }
    setTimeout(() => say(label, "Copy"), 2000);
  });
}
