// Socket.IO on Node, WebSocket transport, text payload (a binary one would be two
// messages).
import http from "node:http";
import { Server } from "socket.io";
import { makePayload, serveControl } from "./control.mjs";

const size = Number(process.argv[2]);
let handled = 0;
const web = http.createServer();
const io = new Server(web);
io.on("connection", (socket) => {
	socket.join("t");
	socket.on("m", () => handled++);
});
web.listen(0, "127.0.0.1", () => {
	const filling = makePayload(size, 0n).toString("latin1").slice(20);
	serveControl(web.address().port, {
		publish: (stamp) => io.to("t").emit("m", String(stamp).padStart(20, "0") + filling),
		count: () => handled,
		collect: () => globalThis.gc?.(),
	});
});
