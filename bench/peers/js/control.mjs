// The control connection of the server programs in JavaScript: commands of 9
// bytes, an operation and a number (see control.go).
import net from "node:net";

export function makePayload(size, stamp) {
	const b = Buffer.alloc(Math.max(size, 16));
	for (let i = 8; i < b.length; i++) b[i] = 97 + (i % 26);
	b.writeBigInt64LE(stamp);
	return b;
}

export function serveControl(dataPort, { publish, count, collect }) {
	const server = net.createServer((socket) => {
		let rest = Buffer.alloc(0);
		socket.setNoDelay(true);
		socket.on("error", () => process.exit(0));
		socket.on("close", () => process.exit(0));
		socket.on("data", (chunk) => {
			rest = rest.length ? Buffer.concat([rest, chunk]) : chunk;
			let at = 0;
			for (; rest.length - at >= 9; at += 9) {
				if (rest[at] === 0x50) {
					publish(rest.readBigInt64LE(at + 1));
					continue;
				}
				const answer = Buffer.alloc(8);
				if (rest[at] === 0x43) answer.writeBigUInt64LE(BigInt(count()));
				else collect();
				socket.write(answer);
			}
			rest = rest.subarray(at);
		});
	});
	server.listen(0, "127.0.0.1", () => {
		console.log(`ready ${dataPort} ${server.address().port}`);
	});
}
