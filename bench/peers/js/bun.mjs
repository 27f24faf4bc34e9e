// Bun's native publish.
import { makePayload, serveControl } from "./control.mjs";

const size = Number(process.argv[2]);
let handled = 0;
const server = Bun.serve({
	port: 0,
	hostname: "127.0.0.1",
	fetch(request, server) {
		return server.upgrade(request) ? undefined : new Response("expected an upgrade", { status: 400 });
	},
	websocket: {
		open(ws) {
			ws.subscribe("t");
		},
		message() {
			handled++;
		},
	},
});
serveControl(server.port, {
	publish: (stamp) => server.publish("t", makePayload(size, stamp)),
	count: () => handled,
	collect: () => Bun.gc(true),
});
