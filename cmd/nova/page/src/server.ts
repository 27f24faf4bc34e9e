import { byId, say, setting } from "./dom.ts";

/** Lets a visitor on the server's own machine choose how fast its feed is, if it has one. */
export async function offerSpeed(): Promise<void> {
  const url = setting("feed");
  if (url === undefined) return;
  const box = byId("speed");
  const inputs = [...box.querySelectorAll("input")];
  const ask = async (init?: RequestInit) => {
    const answer = await fetch(url, init);
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const { rate, settable } = (await answer.json()) as { rate: number; settable: boolean };
    for (const input of inputs) input.checked = Number(input.value) === rate;
    box.hidden = !settable;
  };
  box.addEventListener("change", (e) => {
    const body = JSON.stringify({ rate: Number((e.target as HTMLInputElement).value) });
    ask({ method: "POST", headers: { "content-type": "application/json" }, body }).catch(() => (box.hidden = true));
  });
  await ask().catch(() => {}); // the server is gone: it stays hidden
}

/** Shows how many clients the server has. */
export async function countClients(): Promise<void> {
  try {
    const { clients } = (await (await fetch("health")).json()) as { clients: number };
    say(byId("clients"), String(clients));
  } catch {
    say(byId("clients"), "–"); // the server is gone
  }
}
