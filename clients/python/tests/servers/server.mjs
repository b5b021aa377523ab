// An MCP server in Node, over stdio: it reads lines with readline and messages with JSON.parse.
//
// It tells the client of each call that it runs: [tool, amount, arguments]. It answers other requests with their params.
import { createInterface } from "node:readline";

const say = (said) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...said })}\n`);

for await (const line of createInterface({ input: process.stdin })) {
  try {
    const { id = null, method, params } = JSON.parse(line);
    if (method === "tools/call") {
      const amount = typeof params.arguments.amount === "number" ? params.arguments.amount : null;
      say({ method: "notifications/ran", params: { ran: [params.name, amount, params.arguments] } });
    }
    say({ id, result: { params } });
  } catch {
    say({ id: null, error: { code: -32700, message: "not a message" } });
  }
}
